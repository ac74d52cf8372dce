import { TOPICS } from '#infra/kafka/topics.ts';
import { until } from '#test/harness/until.ts';
import type { Row } from '../row.ts';
import { withAdmin } from '../world/groups.ts';

const STAGES = ['dedup', 'identity', 'quota', 'warehouse', 'delivery.webhook'] as const;
const DELETED_MS = 30_000;

/** The stages are stopped and their groups deleted, as brokers do to groups that are away for long: nobody begins anew. */
export const GROUPS_DELETED: Row = {
  name: 'groups_deleted',
  oneProcess: true,
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

const READS = [
  ['dedup', TOPICS.raw],
  ['identity', TOPICS.unique],
  ['warehouse', TOPICS.identified],
  ['delivery.webhook', TOPICS.identified],
] as const;

/**
 * The stages are stopped, and the coordinator knows only the first half of what they committed, as one may that was killed
 * (decision 17).
 */
export const GROUPS_SET_BACK: Row = {
  name: 'groups_set_back',
  oneProcess: true,
  requestsPerSecond: 20,
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 2);
    for (const [stage] of READS) await world.fleet.stop(stage);
    await withAdmin(world, async (admin) => {
      for (const [stage, topic] of READS) {
        const groupId = `svc.${stage}`;
        const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] });
        const early = (committed?.partitions ?? []).map(({ partition, offset }) => {
          return { partition, offset: String(Math.max(0, Math.floor(Number(offset) / 2))) };
        });
        await admin.setOffsets({ groupId, topic, partitions: early });
      }
    });
    for (const [stage] of READS) world.fleet.launch(stage);
    await world.fleet.allReady();
    await untilSent(ledger.size() + events / 4);
  },
};
