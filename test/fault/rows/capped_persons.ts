import { PERSONS_PER_PERSON_MAX } from '#infra/redis/identity.ts';
import type { SentEvent } from '#test/harness/ingest.ts';
import { until } from '#test/harness/until.ts';
import { send } from '../load/send.ts';
import { canonical } from '../oracle/people.ts';
import { storedPeople } from '../oracle/stored.ts';
import type { Row, RowContext } from '../row.ts';
import { makeFaultSite } from '../world/site.ts';
import { flushAll } from './parts.ts';

const CAPPED = 30;
const NEWCOMERS = 10;
const EVENTS_IN_REQUEST = 40;
const REQUESTS_PER_SECOND = 20;
const PEOPLE_MS = 90_000;
const ACCEPTED_MS = 30_000;

const named = (kind: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${kind}${at}`);

/**
 * More visitors than may be one person give a till's address, and Redis is emptied behind them. Whoever was one stays
 * one, and who was not, and who comes later, joins nobody. They have a site of their own, as the ledger's rule of who is
 * one knows no cap.
 */
export const REDIS_LOST_WITH_CAPPED_PERSONS: Row = {
  name: 'redis.lost_with_capped_persons',
  requestsPerSecond: REQUESTS_PER_SECOND,
  async fault(context) {
    const { world, untilSent, ledger, events } = context;
    const { site, serverKey } = await makeFaultSite(world, 'capped');
    const first = named('first', PERSONS_PER_PERSON_MAX);
    const capped = named('capped', CAPPED);
    // They fill it before others come.
    await sendLogins(context, serverKey, first, 'a');
    await untilPeople(context, site, [first]);
    await sendLogins(context, serverKey, capped, 'b');
    await untilPeople(context, site, [first, ...capped.map((one) => [one])]);
    await untilSent(events / 2);
    await flushAll(context);
    await untilSent(ledger.size() + events / 4);
    const later = named('later', NEWCOMERS);
    await sendLogins(context, serverKey, [...later, ...capped, ...first], 'c');
    await untilPeople(context, site, [first, ...[...capped, ...later].map((one) => [one])]);
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

async function untilPeople({ world }: RowContext, site: string, people: readonly string[][]): Promise<void> {
  const expected = JSON.stringify(canonical(people));
  await until(
    'the people that were',
    async () => JSON.stringify(await storedPeople(world, site)),
    (seen) => seen === expected,
    { timeoutMs: PEOPLE_MS, everyMs: 500 },
  );
}
