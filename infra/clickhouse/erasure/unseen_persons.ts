// When persons were last seen, by the rows of their events; and the deletion of what says who is whom of those who were not for long.

import type { LinkedPerson, PersonGroup, SweepMarks } from '#pipelines/erasure/retention.ts';
import { AT_ONCE, insertRows, run, SIGNS_OF_LIFE, select, type Warehouse } from '../client.ts';
import { alterRows, type Cluster, syncReplicas } from '../cluster.ts';
import { listed } from '../merge_persons.ts';
import { reloadPersons } from '../person_dictionaries.ts';
import { createRowDeletion, forgetErasing, noteErasing, whoIsWhom } from './erase_rows.ts';

/** As `person_hash` it is no person's. */
const MARK = 0;
/** Marks a site whose persons were not yet looked through to the end. */
const BEGUN_SECONDS = 1;

/** Statements over all persons of a site leave cores to others. */
const GENTLY = { ...SIGNS_OF_LIFE, max_threads: 2 } as const;
const NOTED = { ...GENTLY, ...AT_ONCE, insert_deduplicate: 0 } as const;

const seconds = (ms: number): number => Math.floor(ms / 1000);

const noteOf = (siteId: string): string => `unseen.${siteId}`;

/** When they were seen is forgotten behind their links: these would else be of people of whom nothing is known, and stay. */
const TABLES = {
  besides: ['person_splits', 'merged_persons', 'cohort_members'],
  links: ['person_links'],
  seen: ['person_seen'],
} as const;

export type UnseenPersons = ReturnType<typeof createUnseenPersons>;

/** Each step may be repeated, also by another process. Everything throws WarehouseError. */
export function createUnseenPersons(warehouse: Warehouse, cluster: Cluster | null) {
  /** Links that are newer than those who were found came since: their persons have returned. */
  function deletionOf(version: number, seenBeforeMs: number) {
    const isOld = `version <= ${Math.floor(version)}`;
    const of = whoIsWhom('unseen');
    const conditions = {
      person_splits: (database: string) => `${of.person_splits(database)} AND ${isOld}`,
      merged_persons: (database: string) =>
        `key IN (SELECT cityHash64(site_id, cityHash64(value)) FROM ${database}.erasing WHERE kind = 'unseen') AND ${isOld}`,
      cohort_members: (database: string) =>
        `(site_id, kind, value) IN (SELECT site_id, 'person', value FROM ${database}.erasing WHERE kind = 'unseen')
         AND toUnixTimestamp(added_at) < ${seconds(seenBeforeMs)}`,
      person_links: (database: string) => `(${of.person_links(database)}) AND ${isOld}`,
      person_seen: (database: string) =>
        `${of.person_seen(database)} AND toUnixTimestamp(seen_at) < ${seconds(seenBeforeMs)}`,
    };
    return createRowDeletion(warehouse, cluster, conditions, 'erasing');
  }

  async function mark(siteId: string, atSeconds: number): Promise<void> {
    await insertRows(warehouse, 'person_seen', [{ site_id: siteId, person_hash: MARK, seen_at: atSeconds }], NOTED);
  }

  return {
    marks: async (): Promise<SweepMarks> => {
      const rows = await select<{ site: string; at: number }>(
        warehouse,
        `SELECT site_id AS site, toFloat64(toUnixTimestamp(max(seen_at))) AS at FROM person_seen WHERE person_hash = ${MARK} GROUP BY site`,
        {},
        GENTLY,
      );
      return new Map(rows.map(({ site, at }) => [site, at * 1000]));
    },
    /** Says that all who were seen up to then are noted, and that whoever was not for long is forgotten. */
    done: (siteId: string, atMs: number): Promise<void> => mark(siteId, seconds(atMs)),
    /** Forgets when anybody of some sites was seen. */
    async forgetSites(siteIds: readonly string[]): Promise<void> {
      if (siteIds.length === 0) return;
      const change = `DELETE WHERE site_id IN (${listed(siteIds)}) SETTINGS mutations_sync = 2`;
      await alterRows(warehouse, cluster, 'person_seen', change, SIGNS_OF_LIFE);
    },
    /** Waits until each replica has what any of them has had. Without replicas there is nothing to wait for. */
    sync: (): Promise<void> =>
      syncReplicas(warehouse, cluster, ['event_rows', 'person_links', 'person_splits', 'person_seen']),
    /** Notes of everybody with links when something last arrived of them, as far as that was since then; milliseconds since 1970 UTC. */
    async note(siteId: string, sinceMs: number): Promise<void> {
      await mark(siteId, BEGUN_SECONDS);
      const query = `INSERT INTO person_seen (site_id, person_hash, seen_at)
        SELECT {site:String}, person_hash, toDateTime(max(received_at), 'UTC') FROM event_rows
        WHERE site_id = {site:String} AND received_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
          AND person_hash GLOBAL IN (SELECT cityHash64(person_id) FROM person_links WHERE site_id = {site:String})
        GROUP BY person_hash`;
      await run(warehouse, query, { site: siteId, since: Math.max(0, Math.floor(sinceMs)) }, NOTED);
    },
    /**
     * Who is linked and has no events any more by which it could be said when they were seen counts as seen now; once, as it is noted
     * then.
     */
    async noteOthers(siteId: string, nowMs: number): Promise<void> {
      const query = `INSERT INTO person_seen (site_id, person_hash, seen_at)
        SELECT {site:String}, min(person_hash), toDateTime({now:UInt32}, 'UTC') FROM (
          SELECT cityHash64(target) AS leader, cityHash64(person_id) AS person_hash FROM person_links FINAL
          WHERE site_id = {site:String}) AS links
        GROUP BY leader
        HAVING countIf(person_hash GLOBAL IN (SELECT person_hash FROM person_seen WHERE site_id = {site:String})) = 0`;
      await run(warehouse, query, { site: siteId, now: seconds(nowMs) }, NOTED);
    },
    /** Whether anybody of a site was split after one time and up to another; milliseconds since 1970 UTC. */
    async wereSplit(siteId: string, afterMs: number, upToMs: number): Promise<boolean> {
      const [found] = await select<{ splits: number }>(
        warehouse,
        `SELECT toFloat64(count()) AS splits FROM person_splits WHERE site_id = {site:String}
         AND split_at > fromUnixTimestamp64Milli({after:Int64}, 'UTC') AND split_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC')`,
        { site: siteId, after: Math.max(0, Math.floor(afterMs)), to: Math.max(0, Math.floor(upToMs)) },
        GENTLY,
      );
      return found !== undefined && found.splits > 0;
    },
    /**
     * Persons none of whom was seen since `beforeMs`, with all who are one with them, in the order of their leaders behind `after`.
     * Of whom nothing is noted is not among them; nor is who is one with somebody that was split after `splitMs`: their rows may
     * still be given to one side or the other, and say nothing of when it was seen.
     */
    unseen: (
      siteId: string,
      { beforeMs, splitMs }: { beforeMs: number; splitMs: number },
      after: string,
      limit: number,
    ): Promise<LinkedPerson[]> =>
      select<LinkedPerson>(
        warehouse,
        `SELECT person_id AS person, target AS leader, toFloat64(version) AS version FROM person_links FINAL
         WHERE site_id = {site:String} AND target > {after:String} AND cityHash64(target) GLOBAL IN (
           SELECT hash FROM (
             SELECT cityHash64(target) AS hash, cityHash64(person_id) AS person_hash FROM person_links FINAL
             WHERE site_id = {site:String}) AS links
           GLOBAL INNER JOIN (
             SELECT person_hash, max(seen_at) AS seen FROM person_seen WHERE site_id = {site:String} GROUP BY person_hash) AS seen
           USING (person_hash)
           GROUP BY hash HAVING max(seen) < toDateTime({before:UInt32}, 'UTC'))
         AND target GLOBAL NOT IN (
           SELECT target FROM person_links FINAL WHERE site_id = {site:String} AND person_id GLOBAL IN (
             SELECT arrayJoin(arrayConcat(moved, stayed, [person_id, former_person_id])) FROM person_splits
             WHERE site_id = {site:String} AND split_at > fromUnixTimestamp64Milli({split:Int64}, 'UTC')))
         ORDER BY leader, person LIMIT {limit:UInt32}`,
        {
          ...{ site: siteId, after, limit },
          ...{ before: Math.max(0, seconds(beforeMs)), split: Math.max(0, Math.floor(splitMs)) },
        },
        GENTLY,
      ),
    /**
     * Begins to delete what says who is whom of persons of a site; their events stay. Their links are deleted when all else is, and
     * when they were seen behind that, as by them the persons are found again where somebody is killed before. To be called when
     * nothing of the kind is under way. Resolves to what tells whether any of it is left.
     */
    async begin(
      what: keyof typeof TABLES,
      siteId: string,
      groups: readonly PersonGroup[],
      { seenBeforeMs, nowMs }: { seenBeforeMs: number; nowMs: number },
    ): Promise<() => Promise<boolean>> {
      const shared = { erasure_id: noteOf(siteId), site_id: siteId, kind: 'unseen', until: nowMs } as const;
      await forgetErasing(warehouse, cluster);
      await noteErasing(
        warehouse,
        groups.flatMap(({ persons }) => persons.map((value) => ({ ...shared, value }))),
      );
      await syncReplicas(warehouse, cluster, ['erasing']);
      const newest = groups.reduce((most, { version }) => Math.max(most, version), 0);
      const deletion = deletionOf(newest, seenBeforeMs);
      for (const table of TABLES[what]) await deletion.begin(table);
      return async () => {
        for (const table of TABLES[what]) if (await deletion.hasAny(table)) return true;
        return false;
      };
    },
    /** The tables from which rows are still being deleted, on any server, each with whether that fails. */
    underWay: () => deletionOf(0, 0).underWay(),
    /** Begins to forget when those were seen who have no links any more: somebody was killed between the two. */
    async tidy(siteId: string) {
      const isOf = `site_id = ${listed([siteId])}`;
      const isLinked = (database: string): string =>
        `person_hash IN (SELECT cityHash64(person_id) FROM ${database}.person_links WHERE ${isOf})`;
      const person_seen = (database: string): string =>
        `${isOf} AND person_hash != ${MARK} AND NOT (${isLinked(database)})`;
      const deletion = createRowDeletion(warehouse, cluster, { person_seen }, `AND person_hash != ${MARK} AND NOT`);
      await deletion.begin('person_seen');
    },
    /** Whether it is noted still whom of a site it was about. */
    async isUnended(siteId: string): Promise<boolean> {
      const query = 'SELECT 1 FROM erasing WHERE erasure_id = {id:String} LIMIT 1';
      return (await select(warehouse, query, { id: noteOf(siteId) }, GENTLY)).length > 0;
    },
    /** Forgets whom it was about, and loads the persons again that queries resolve by. */
    async end(): Promise<void> {
      await reloadPersons(warehouse, cluster);
      await forgetErasing(warehouse, cluster);
    },
  };
}
