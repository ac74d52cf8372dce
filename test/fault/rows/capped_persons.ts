import { TOPICS } from '#infra/kafka/topics.ts';
import { DISTINCT_IDS_PER_PERSON_MAX } from '#infra/redis/indexes/identity_index.ts';
import type { SentEvent } from '#test/harness/ingest.ts';
import { until } from '#test/harness/until.ts';
import { send } from '../load/send.ts';
import { canonical } from '../oracle/people.ts';
import { rowsById, storedPeople } from '../oracle/stored.ts';
import type { Row, RowContext } from '../row.ts';
import { recordsByKey, whileCompacting } from '../world/compaction.ts';
import { makeFaultSite } from '../world/site.ts';
import { flushAll } from './parts.ts';

const CAPPED = 30;
const NEWCOMERS = 10;
const EVENTS_IN_REQUEST = 40;
const REQUESTS_PER_SECOND = 20;
const PEOPLE_MS = 90_000;
const ACCEPTED_MS = 30_000;
/** The broker's cleaner looks for work every 15 s. */
const COMPACTED_MS = 120_000;

const named = (kind: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${kind}${at}`);

/**
 * More visitors than may be one person give a till's address, and Redis is emptied behind them. Whoever was one stays
 * one, and who was not, and who comes later, joins nobody. Those who are one say so again after the others, and what they
 * said first is compacted away: the links that are left are not in the order in which it was decided. They have a site of
 * their own, as the ledger's rule of who is one knows no cap.
 */
export const REDIS_LOST_WITH_CAPPED_PERSONS: Row = {
  name: 'redis.lost_with_capped_persons',
  requestsPerSecond: REQUESTS_PER_SECOND,
  async fault(context) {
    const { world, untilSent, ledger, events } = context;
    const { site, serverKey } = await makeFaultSite(world, 'capped');
    const first = named('first', DISTINCT_IDS_PER_PERSON_MAX);
    const capped = named('capped', CAPPED);
    const separate = capped.map((one) => [one]);
    // They fill it before others come.
    await sendLogins(context, serverKey, first, 'a');
    await untilPeople(context, site, [first], first.length);
    await sendLogins(context, serverKey, capped, 'b');
    await untilPeople(context, site, [first, ...separate], first.length + capped.length);
    await sendLogins(context, serverKey, first, 'c');
    const before = 2 * first.length + capped.length;
    await untilPeople(context, site, [first, ...separate], before);
    await untilCompacted(context, site, first.length + capped.length);
    await untilSent(ledger.size() + events / 4);
    await flushAll(context);
    await untilSent(ledger.size() + events / 4);
    const later = named('later', NEWCOMERS);
    const everybody = [...later, ...capped, ...first];
    await sendLogins(context, serverKey, everybody, 'd');
    const people = [first, ...separate, ...later.map((one) => [one])];
    await untilPeople(context, site, people, before + everybody.length);
  },
};

/** Every visitor says that they are who the till says it is; resolves when all are accepted. */
async function sendLogins({ world }: RowContext, key: string, visitors: readonly string[], round: string) {
  const events = visitors.map(
    (visitor): SentEvent => ({
      event: 'login',
      uuid: `${visitor}-${round}`,
      distinct_id: visitor,
      timestamp: new Date().toISOString(),
      properties: { email: 'till@example.com' },
    }),
  );
  for (let at = 0; at < events.length; at += EVENTS_IN_REQUEST) {
    const edge = world.edges[at % world.edges.length] as string;
    await until(
      'logins accepted',
      () => send(edge, key, events.slice(at, at + EVENTS_IN_REQUEST), '198.51.100.99'),
      (standing) => standing === 'accepted',
      { timeoutMs: ACCEPTED_MS },
    );
  }
}

/** Each visitor's edge to the till's address is there once, where those who came back had written it twice. */
async function untilCompacted({ world }: RowContext, site: string, edges: number): Promise<void> {
  await whileCompacting(world, TOPICS.links, () =>
    until(
      'links to be compacted',
      async () => {
        const counts = [...(await recordsByKey(world, TOPICS.links, `${site}/edge/`)).values()];
        const records = counts.reduce((sum, count) => sum + count, 0);
        return { edges: counts.length, records };
      },
      (seen) => seen.edges === edges && seen.records === edges,
      { timeoutMs: COMPACTED_MS, everyMs: 1_000 },
    ),
  );
}

/** Resolves when every event is stored, and its people are those. */
async function untilPeople({ world }: RowContext, site: string, people: readonly string[][], events: number) {
  const expected = JSON.stringify(canonical(people));
  await until(
    'the people that were',
    async () => ({
      events: (await rowsById(world, site)).size,
      people: JSON.stringify(await storedPeople(world, site)),
    }),
    (seen) => seen.events === events && seen.people === expected,
    { timeoutMs: PEOPLE_MS, everyMs: 500 },
  );
}
