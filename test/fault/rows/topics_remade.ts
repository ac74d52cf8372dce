import { partsConfig } from '#infra/config/service_config.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createLogger } from '#infra/log/logger.ts';
import { provision } from '#services/stage/provision.ts';
import { settledUsage } from '#test/harness/stored_rows.ts';
import { until } from '#test/harness/until.ts';
import { send } from '../load/send.ts';
import { createTraffic } from '../load/traffic.ts';
import { deliveredCount } from '../oracle/deliveries.ts';
import { rowsById } from '../oracle/stored.ts';
import type { Row, RowContext } from '../row.ts';
import { withAdmin } from '../world/groups.ts';
import { makeFaultSite } from '../world/site.ts';

/** What is lost with the brokers, while Redis and ClickHouse keep what they noted of it. */
const REMADE = [
  TOPICS.raw,
  TOPICS.unique,
  TOPICS.identified,
  TOPICS.outcomes,
  TOPICS.counts,
  TOPICS.duplicates,
  TOPICS.inventory,
] as const;
const EVENTS_BEFORE = 400;
const EVENTS_IN_REQUEST = 20;
const ARRIVED_MS = 120_000;
const GONE_MS = 60_000;

/** Topics are made anew under marks, counters and tokens of those before them, whose offsets are given out once more. */
export const TOPICS_REMADE: Row = {
  name: 'topics.made_anew',
  place: 'growing',
  requestsPerSecond: 20,
  async before(context) {
    const { world } = context;
    await fill(context);
    for (const name of world.fleet.names()) await world.fleet.stop(name);
    await withAdmin(world, async (admin) => {
      await admin.deleteTopics({ topics: [...REMADE] });
      const left = async (): Promise<string[]> => {
        const names = await admin.listTopics();
        return REMADE.filter((topic) => names.includes(topic));
      };
      await until('the topics to be gone', left, (names) => names.length === 0, { timeoutMs: GONE_MS });
    });
    await provision(partsConfig(world.env), createLogger('provision', 'warn'));
    for (const name of world.fleet.names()) world.fleet.launch(name);
    await world.fleet.allReady();
  },
  async fault({ untilSent, events }) {
    await untilSent(events / 2);
  },
};

/** Events of another site, all the way through. */
async function fill({ world, random }: RowContext): Promise<void> {
  const { site, account, serverKey, scopes } = await makeFaultSite(world, 'before');
  const events = createTraffic(site, random, Date.now).next(EVENTS_BEFORE);
  for (let from = 0; from < events.length; from += EVENTS_IN_REQUEST) {
    const edge = world.edges[(from / EVENTS_IN_REQUEST) % world.edges.length] as string;
    const standing = await send(edge, serverKey, events.slice(from, from + EVENTS_IN_REQUEST), '198.51.100.99');
    if (standing !== 'accepted') throw new Error(`events before the fault were ${standing}`);
  }
  const arrived = async (): Promise<number[]> => [
    (await rowsById(world, site)).size,
    await settledUsage(world, account),
    await deliveredCount(world.standins.meta, scopes.meta),
    await deliveredCount(world.standins.webhook, scopes.webhook),
  ];
  const isAll = (seen: readonly number[]): boolean => seen.every((count) => count >= EVENTS_BEFORE);
  await until('all events before the fault to arrive', arrived, isAll, { timeoutMs: ARRIVED_MS });
}
