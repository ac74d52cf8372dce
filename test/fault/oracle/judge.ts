import { settledUsage } from '#test/harness/stored_rows.ts';
import { until } from '#test/harness/until.ts';
import { sendBarrier } from '../load/barrier.ts';
import type { Row, RowContext } from '../row.ts';
import { conservationProblems } from './conservation.ts';
import { type Deliveries, deliveredCount, deliveriesOf } from './deliveries.ts';
import { expectedDead, type OnTopics, readOnTopics } from './on_topics.ts';
import { canonical, peopleOf } from './people.ts';
import { deliveredOutcomes, rowsById, storedPeople } from './stored.ts';
import type { Ends } from './topics.ts';

/** What a row came to. */
export interface Verdict {
  /** Accepted events without a row in ClickHouse. */
  lost: number;
  /** Rows, records and effects beyond the first of an event. */
  doubled: number;
  /** From the end of the fault until everything sent had arrived everywhere. */
  recoverMs: number;
  problems: string[];
}

/** Longest that everything may take to arrive after a fault. */
const ARRIVE_MS = 120_000;
const PEOPLE_MS = 15_000;
const SHOWN = 5;

/** Waits until everything has arrived and compares every place with the ledger. */
export async function judge(row: Row, context: RowContext, starts: Ends, healedMs: number): Promise<Verdict> {
  const { world, site, ledger } = context;
  const barrier = await sendBarrier({
    edges: world.edges,
    key: site.serverKey,
    site: site.site,
    partitions: world.eventPartitions,
    name: `${site.site}`,
    ledger,
  });
  const late = await untilArrived(context, barrier);
  const recoverMs = performance.now() - healedMs;
  const rows = await rowsById(world, site.site);
  const stored = new Set(rows.keys());
  const topics = await readOnTopics(world.addresses.kafkaBrokers, starts, site.site, stored, context.planted);
  const destinations: [string, Deliveries][] = await Promise.all(
    (['meta', 'webhook'] as const).map(
      async (name): Promise<[string, Deliveries]> => [
        name,
        await deliveriesOf(world.standins[name], site.scopes[name]),
      ],
    ),
  );
  const lost = missing(ledger.ids('accepted'), stored);
  const problems = [
    ...late,
    ...listed('accepted but not stored', lost),
    ...listed('stored but never accepted', missing(stored, union(ledger.ids('accepted'), ledger.ids('unknown')))),
    ...listed('more than one row', twice(rows)),
    ...listed('more than one outcome', twice(await deliveredOutcomes(world, site.site))),
    ...topicProblems(topics, stored, context.broken),
    ...destinations.flatMap(([name, deliveries]) => deliveryProblems(name, deliveries, stored, row.resends === true)),
    ...(await usageProblems(context, stored.size + context.broken.size)),
    ...(await peopleProblems(context, stored)),
    ...deadProblems(context, topics),
    ...(await conservationProblems(world.fleet)),
  ];
  return { lost: lost.length, doubled: doubledOf(rows, topics, destinations), recoverMs, problems };
}

async function untilArrived(context: RowContext, barrier: ReadonlySet<string>): Promise<string[]> {
  const { world, site } = context;
  const progress = async () => {
    const rows = await rowsById(world, site.site);
    return {
      stored: rows.size,
      barrierMissing: missing(barrier, new Set(rows.keys())).length,
      meta: await deliveredCount(world.standins.meta, site.scopes.meta),
      webhook: await deliveredCount(world.standins.webhook, site.scopes.webhook),
      used: await settledUsage(world, site.account),
    };
  };
  const isDone = (seen: Awaited<ReturnType<typeof progress>>): boolean =>
    seen.barrierMissing === 0 && Math.min(seen.meta, seen.webhook, seen.used) >= seen.stored;
  try {
    await until('everything arrived', progress, isDone, { timeoutMs: ARRIVE_MS, everyMs: 150 });
    return [];
  } catch (error) {
    return [String(error)];
  }
}

function topicProblems(topics: OnTopics, stored: ReadonlySet<string>, broken: ReadonlySet<string>): string[] {
  const wellOrBroken = union(stored, broken);
  return (['unique', 'identified'] as const)
    .flatMap((name) => [
      ...listed(`stored but not on events.${name}`, missing(stored, new Set(topics[name].keys()))),
      ...listed(
        `on events.${name} but not stored`,
        missing(new Set(topics[name].keys()), name === 'unique' ? wellOrBroken : stored),
      ),
      ...listed(`more than once on events.${name}`, twice(topics[name])),
    ])
    .concat(listed('on events.raw but not stored', missing(new Set(topics.raw.keys()), wellOrBroken)));
}

/** Every stored event was meant for both destinations. */
function deliveryProblems(
  name: string,
  { entries, repeated }: Deliveries,
  stored: ReadonlySet<string>,
  mayResend: boolean,
): string[] {
  const keys = new Map<string, number>();
  for (const { event_id } of entries) keys.set(event_id, (keys.get(event_id) ?? 0) + 1);
  const delivered = new Set(keys.keys());
  return [
    ...listed(`not delivered to ${name}`, missing(stored, delivered)),
    ...listed(`delivered to ${name} but not stored`, missing(delivered, stored)),
    ...listed(`delivered to ${name} under several keys`, twice(keys)),
    ...(repeated > 0 && !mayResend ? [`${repeated} deliveries to ${name} were repeated without cause`] : []),
  ];
}

async function usageProblems({ world, site }: RowContext, events: number): Promise<string[]> {
  const used = await settledUsage(world, site.account);
  return used === events ? [] : [`quota: ${used} used for ${events} unique events`];
}

/** The dictionary of merged people is loaded again some time after a merge. */
async function peopleProblems({ world, site, ledger }: RowContext, stored: ReadonlySet<string>): Promise<string[]> {
  const events = ledger.entries().flatMap(({ event }) => (stored.has(event.uuid) ? [event] : []));
  const expected = JSON.stringify(canonical(peopleOf(events)));
  try {
    await until(
      'people',
      async () => JSON.stringify(await storedPeople(world, site.site)),
      (seen) => seen === expected,
      { timeoutMs: PEOPLE_MS, everyMs: 300 },
    );
    return [];
  } catch {
    const found = await storedPeople(world, site.site);
    return [`people: ${found.length} in ClickHouse, ${peopleOf(events).length} by the ledger, or others`];
  }
}

function deadProblems({ planted }: RowContext, { dead }: OnTopics): string[] {
  const expected = expectedDead(planted).sort();
  const found = [...dead].sort();
  return [
    ...listed(
      'planted but not dead',
      expected.filter((place) => !found.includes(place)),
    ),
    ...listed(
      'dead but not planted',
      found.filter((place) => !expected.includes(place)),
    ),
    ...listed(
      'dead more than once',
      found.filter(
        (place, index) =>
          found.indexOf(place) !== index &&
          expected.filter((one) => one === place).length < found.filter((one) => one === place).length,
      ),
    ),
  ];
}

function doubledOf(
  rows: ReadonlyMap<string, number>,
  topics: OnTopics,
  destinations: readonly [string, Deliveries][],
): number {
  const surplus = (times: ReadonlyMap<string, number>): number =>
    [...times.values()].reduce((sum, one) => sum + one - 1, 0);
  const effects = destinations.flatMap(([, { entries }]) => entries).reduce((sum, one) => sum + one.effects - 1, 0);
  return surplus(rows) + surplus(topics.unique) + surplus(topics.identified) + effects;
}

function missing(ids: Iterable<string>, from: ReadonlySet<string>): string[] {
  return [...ids].filter((id) => !from.has(id));
}

function twice(times: ReadonlyMap<string, number>): string[] {
  return [...times].filter(([, count]) => count > 1).map(([id]) => id);
}

function union(one: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> {
  return new Set([...one, ...other]);
}

function listed(what: string, ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  return [`${ids.length} ${what}: ${ids.slice(0, SHOWN).join(', ')}${ids.length > SHOWN ? ', …' : ''}`];
}
