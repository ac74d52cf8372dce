import { insertBlock } from '#infra/clickhouse/client.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf } from './warehouse_world.ts';

const SITE = 'shop';
const PEOPLE = 30;
export const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export const person = (name: string | number): string => basePersonId(SITE, String(name));

interface Link {
  site_id: string;
  person_id: string;
  target: string;
  first_seen: number;
  version: number;
}

export const linkOf = (from: string, to: string, version: number): Link => ({
  ...{ site_id: SITE, person_id: from, target: to, first_seen: 0, version },
});

/** A row of an event that arrived under a person. */
export const arrived = (id: string, personId: string, timestamp = Date.now()) =>
  eventRow({
    coordinate: { partition: 0, offset: 0, index: 0 },
    person: { person_id: personId, identifiers: null },
    event: sampleEvent({ event_id: id, timestamp }),
  });

/** Stores links as if they had come at a time of the past. */
export async function linkAt(database: Database, links: readonly Link[], atMs: number, token: string): Promise<void> {
  const [view] = await rowsOf<{ query: string }>(
    database,
    "SELECT as_select AS query FROM system.tables WHERE database = currentDatabase() AND name = 'merged_persons_filled'",
  );
  // The view would store them as of now.
  await database.warehouse.command({ query: 'DETACH TABLE merged_persons_filled' });
  await insertBlock(database.warehouse, 'person_links', token, links);
  await database.warehouse.command({ query: 'ATTACH TABLE merged_persons_filled' });
  await database.warehouse.command({
    query: `INSERT INTO merged_persons (key, actor, person, leads, version, changed_at)
      SELECT *, fromUnixTimestamp64Milli(${atMs}, 'UTC') FROM (${view?.query})
      WHERE version IN (${links.map(({ version }) => version).join()})`,
  });
}

/** What the events say of their persons, by event: the person, and whether the digest is of the same. */
export async function personsNow(database: Database): Promise<Record<string, string>> {
  const rows = await rowsOf<{ event_id: string; found: string }>(
    database,
    `SELECT event_id, if(actor = cityHash64(person_id), person_id, 'another actor') AS found FROM event_rows ORDER BY event_id`,
  );
  return Object.fromEntries(rows.map(({ event_id, found }) => [event_id, found]));
}

/** People who turn out to be one as identity finds out, with the events that arrive meanwhile. */
export function createPeople(random: Random, fromMs: number) {
  const groups = Array.from({ length: PEOPLE }, (_, at) => ({ leader: at, members: [at] }));
  /** Of each event the person that it arrived under. */
  const arrivals: Record<string, string> = {};
  const newest = new Map<string, string>();
  let nowMs = fromMs;
  let version = 0;
  let leaders = new Map<number, string>();
  let leadersBefore = leaders;
  return {
    arrivals,
    pass(): number {
      nowMs = Math.min(
        Date.now() - 60 * MINUTE_MS,
        nowMs + random.pick([MINUTE_MS, 20 * MINUTE_MS, 2 * DAY_MS, 5 * DAY_MS]),
      );
      return nowMs;
    },
    /** Links of two who become one, of everybody that they were, under the one who leads from now on: either may. */
    merge(): Link[] {
      const [one, other] = [random.pick(groups), random.pick(groups)];
      if (one === other) return [];
      version += 1;
      leadersBefore = leaders;
      const members = [...one.members, ...other.members];
      const leader = random.pick([one.leader, other.leader, random.pick(members)]);
      groups.splice(groups.indexOf(other), 1);
      Object.assign(one, { leader, members });
      leaders = new Map(groups.flatMap((group) => group.members.map((member) => [member, person(group.leader)])));
      const links = members.map((member) => linkOf(person(member), person(leader), version));
      for (const { person_id, target } of links) newest.set(person_id, target);
      return links;
    },
    /** An event of somebody, under the person as known now, or shortly before. */
    event(id: string) {
      const somebody = random.whole(0, PEOPLE - 1);
      const arrivedAs = (random.chance(0.5) ? leaders : leadersBefore).get(somebody) ?? person(somebody);
      arrivals[id] = arrivedAs;
      return arrived(id, arrivedAs, nowMs);
    },
    expected: (): Record<string, string> =>
      Object.fromEntries(Object.entries(arrivals).map(([id, arrivedAs]) => [id, newest.get(arrivedAs) ?? arrivedAs])),
  };
}
