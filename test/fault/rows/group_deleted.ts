import { until } from '#test/harness/until.ts';
import type { Row } from '../row.ts';
import { withAdmin } from '../world/groups.ts';

const STAGES = ['dedup', 'identity', 'quota', 'warehouse', 'delivery.webhook'] as const;
const DELETED_MS = 30_000;

/** The stages are stopped and their groups deleted, as brokers do to groups that are away for long: nobody begins anew. */
export const GROUPS_DELETED: Row = {
  name: 'groups_deleted',
  requestsPerSecond: 20,
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 2);
    for (const stage of STAGES) await world.fleet.stop(stage);
    await withAdmin(world, async (admin) => {
      const groups = STAGES.map((stage) => `svc.${stage}`);
      const areGone = (): Promise<boolean> => admin.deleteGroups(groups).then(() => true);
      await until('groups without members to be deleted', areGone, Boolean, { timeoutMs: DELETED_MS });
    });
    for (const stage of STAGES) world.fleet.launch(stage);
    await world.fleet.allReady();
    await untilSent(ledger.size() + events / 4);
  },
};
