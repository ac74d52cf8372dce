// Deletes the rows of persons, or of a whole site, from every table, by mutations that run by themselves.

import { AT_ONCE, insertRows, run, SIGNS_OF_LIFE, select, type Warehouse } from '../client.ts';
import { type Cluster, everywhere, localTable, ofAllServers, type Place } from '../cluster.ts';
import { reloadPersons } from '../person_dictionaries.ts';

/** The columns of event_rows that say whose a row is. */
export const COLUMN_OF = {
  person: 'arrived_person_id',
  email: 'email_sha256',
  phone: 'phone_hmac',
  external_id: 'external_id_sha256',
} as const;

type SubjectKind = keyof typeof COLUMN_OF;

/**
 * Which event a row of a table is about, as a digest: by its id and by where its record lies in events.raw. The id alone tells too
 * little: senders give one to events of different people, such as the number of an order and of a lead, and those that come on
 * different days are stored.
 */
export const EVENT_OF_ROW = {
  event_rows: 'cityHash64(cityHash64(sent_id), raw_partition, raw_offset, raw_index)',
  delivery_outcomes: 'cityHash64(cityHash64(event_id), coordinate_partition, coordinate_offset, coordinate_index)',
  duplicates: 'cityHash64(cityHash64(event_id), first_partition, first_offset, first_index)',
} as const;

/** Something that rows have of a person who is to be erased. */
export interface ErasedSubject {
  erasure_id: string;
  site_id: string;
  kind: SubjectKind;
  /** As the rows have it: SHA-256 in hex, of a phone number the keyed hash. */
  value: string;
  /** Rows that only say an identifier are theirs where they happened or arrived by then; milliseconds since 1970 UTC. */
  until: number;
}

/** What was found of one erasure in one table. */
export interface ErasedRows {
  erasure_id: string;
  place: string;
  count: number;
}

/** What an event of one erasure says of whose it is, which a destination was sent. */
export interface SentToDestination {
  erasure_id: string;
  distinct_id: string;
  person_id: string;
  email: string;
  external_id: string;
  /** Names of the events that said it, up to NAMES_MAX. */
  events: string[];
}

/** Of one erasure. */
const SENT_MAX = 5_000;
const NAMES_MAX = 100;

/** What was noted before, and forgotten since, is no block that the server has had; on a cluster it is on every shard when noted. */
const NOTED = { ...SIGNS_OF_LIFE, ...AT_ONCE, insert_deduplicate: 0 } as const;

/** `unseen`: who is to be forgotten, but for their events. Under `person` an erasure that begins meanwhile would delete these as well. */
type NotedSubject = Omit<ErasedSubject, 'kind'> & { kind: SubjectKind | 'unseen' };

/** Notes whom statements that delete rows are about. @throws WarehouseError */
export async function noteErasing(warehouse: Warehouse, subjects: readonly NotedSubject[]): Promise<void> {
  // What is said by nobody is empty in the rows: it is nobody's.
  const named = subjects.filter(({ value }) => value !== '');
  // Not by a statement, whose text may be kept.
  await insertRows(warehouse, 'erasing', named, NOTED);
}

/** @throws WarehouseError */
export async function forgetErasing(warehouse: Warehouse, cluster: Cluster | null): Promise<void> {
  const local = localTable('erasing', cluster);
  await everywhere(warehouse, cluster, ({ server, on }) =>
    run(server, `TRUNCATE TABLE ${local}${on}`, {}, SIGNS_OF_LIFE),
  );
}

export type PersonEraser = ReturnType<typeof createPersonEraser>;

/**
 * Erases one batch of persons after the other. Each step may be repeated, also by another process: what is noted of a batch stays until
 * its end, their events among it and the ids of these, by which other rows are found, and which ids others have too. Everything throws
 * WarehouseError.
 */
export function createPersonEraser(warehouse: Warehouse, cluster: Cluster | null) {
  const selectLong = <Row>(query: string): Promise<Row[]> => select(warehouse, query, {}, SIGNS_OF_LIFE);
  const deletion = createRowDeletion(warehouse, cluster, DELETED, 'erasing');

  /** Notes whom it is about, and the events that are theirs, beside those that were so before; of another batch nothing stays. */
  async function begin(subjects: readonly ErasedSubject[]): Promise<void> {
    const ids = [...new Set(subjects.map(({ erasure_id }) => erasure_id))];
    const others = 'SELECT 1 FROM erasing WHERE erasure_id NOT IN {ids:Array(String)} LIMIT 1';
    if ((await select(warehouse, others, { ids }, SIGNS_OF_LIFE)).length > 0) await forgetErasing(warehouse, cluster);
    await noteErasing(warehouse, subjects);
    for (const [kind, column] of Object.entries(COLUMN_OF)) {
      const limit = kind === 'person' ? '' : 'AND least(timestamp, received_at) <= until';
      const both = `arrayJoin([('event', ${EVENT_OF_ROW.event_rows}), ('id', event_hash)]) AS noted`;
      const theirs = `SELECT DISTINCT site_id, erasure_id, noted.1, toString(noted.2), until FROM (
        SELECT site_id, erasure_id, ${both}, until FROM event_rows
        GLOBAL INNER JOIN (SELECT site_id, value AS ${column}, erasure_id, until FROM erasing WHERE kind = '${kind}') AS subjects
        USING (site_id, ${column})
        WHERE (site_id, ${column}) GLOBAL IN (SELECT site_id, value FROM erasing WHERE kind = '${kind}') ${limit})`;
      const query = `INSERT INTO erasing (site_id, erasure_id, kind, value, until) ${theirs}`;
      await run(warehouse, query, {}, NOTED);
    }
    const shared = `INSERT INTO erasing (site_id, erasure_id, kind, value, until)
      SELECT DISTINCT site_id, {id:String}, 'shared', toString(event_hash), now64(3, 'UTC') FROM event_rows
      WHERE (site_id, event_hash) GLOBAL IN (${noted('erasing', 'id')})
        AND (site_id, ${EVENT_OF_ROW.event_rows}) GLOBAL NOT IN (${noted('erasing', 'event')})`;
    await run(warehouse, shared, { id: ids[0] ?? '' }, NOTED);
  }

  /** How many events there are or were of each, and how many other rows there are. */
  async function count(): Promise<ErasedRows[]> {
    const events = `SELECT erasure_id, 'event_rows' AS place, toUInt32(uniqExact(value)) AS count FROM erasing
      WHERE kind = 'event' GROUP BY erasure_id`;
    const byEvent = (['delivery_outcomes', 'duplicates'] as const).map(
      (table) => `SELECT erasure_id, '${table}' AS place, toUInt32(count()) AS count FROM ${table}
      GLOBAL INNER JOIN (SELECT DISTINCT site_id, toUInt64(value) AS digest, erasure_id FROM erasing WHERE kind = 'event') AS found
      ON found.site_id = ${table}.site_id AND found.digest = ${EVENT_OF_ROW[table]} GROUP BY erasure_id`,
    );
    const links = `SELECT erasure_id, 'person_links' AS place, toUInt32(count()) AS count FROM person_links FINAL
      GLOBAL INNER JOIN (SELECT DISTINCT site_id, value AS person_id, erasure_id FROM erasing WHERE kind = 'person') AS persons
      USING (site_id, person_id) GROUP BY erasure_id`;
    const found = await Promise.all([events, ...byEvent, links].map((query) => selectLong<ErasedRows>(query)));
    return found.flat();
  }

  /**
   * What a destination was sent of whom it is about: of events that were attempted there; and where nothing is known of that any
   * more, of those that arrived since it was set up. Of the past none was.
   *
   * @param sinceMs Milliseconds since 1970 UTC.
   */
  function sentTo(site: string, destination: string, sinceMs: number): Promise<SentToDestination[]> {
    const outcomes = `SELECT ${EVENT_OF_ROW.delivery_outcomes} FROM delivery_outcomes
      WHERE site_id = {site:String} AND destination = {destination:String}`;
    const theirs = `SELECT toUInt64(value) AS digest, erasure_id FROM erasing WHERE kind = 'event' AND site_id = {site:String}`;
    const event = EVENT_OF_ROW.event_rows;
    return select(
      warehouse,
      `SELECT erasure_id, distinct_id, arrived_person_id AS person_id, email_sha256 AS email, external_id_sha256 AS external_id,
         groupUniqArray(${NAMES_MAX})(event) AS events
       FROM event_rows GLOBAL INNER JOIN (${theirs}) AS subjects ON ${event} = subjects.digest
       WHERE site_id = {site:String} AND ${event} GLOBAL IN (SELECT digest FROM (${theirs})) AND NOT historical
         AND (${event} GLOBAL IN (${outcomes} AND outcome IN ('delivered', 'diverted', 'dead'))
           OR (${event} GLOBAL NOT IN (${outcomes}) AND received_at >= fromUnixTimestamp64Milli({since:Int64})))
       GROUP BY erasure_id, distinct_id, person_id, email, external_id LIMIT ${SENT_MAX} BY erasure_id`,
      { site, destination, since: sinceMs },
      SIGNS_OF_LIFE,
    );
  }

  /**
   * What says who was split is deleted also of the others in it, of whom a sweep may know nothing else: rows of theirs that were given
   * to the erased are no more. They count as seen now, where a site's persons are looked for.
   */
  async function noteOthersOfSplits(): Promise<void> {
    const persons = 'arrayConcat(moved, stayed)';
    const query = `INSERT INTO person_seen (site_id, person_hash, seen_at)
      SELECT DISTINCT site_id, cityHash64(arrayJoin(${persons})), now('UTC') FROM person_splits
      WHERE hasAny(${persons}, (SELECT groupArray(value) FROM erasing WHERE kind = 'person'))
        AND site_id GLOBAL IN (SELECT site_id FROM person_seen WHERE person_hash = 0)`;
    await run(warehouse, query, {}, NOTED);
  }

  return {
    begin,
    count,
    sentTo,
    /** Begins to delete everything but the events themselves. */
    async deleteBesides(): Promise<void> {
      await noteOthersOfSplits();
      for (const table of PERSON_TABLES) if (table !== 'event_rows') await deletion.begin(table);
    },
    /** Begins to delete the events; only when nothing else is under way. */
    deleteEvents: (): Promise<void> => deletion.begin('event_rows'),
    /** Whether there are rows of theirs still, or again: also where a mutation was killed. */
    async hasRows(): Promise<boolean> {
      for (const table of PERSON_TABLES) if (await deletion.hasAny(table)) return true;
      return false;
    },
    underWay: deletion.underWay,
    /** Forgets whom it was about, and loads the persons again that queries resolve by. */
    async end(): Promise<void> {
      await reloadPersons(warehouse, cluster);
      await forgetErasing(warehouse, cluster);
    },
  };
}

const persons = (database: string, kind: 'person' | 'unseen' = 'person'): string =>
  `SELECT site_id, value FROM ${database}.erasing WHERE kind = '${kind}'`;
/** Digests that are noted in the table `erasing`, by its name, of a kind. */
const noted = (erasing: string, kind: 'event' | 'id' | 'shared'): string =>
  `SELECT site_id, toUInt64(value) FROM ${erasing} WHERE kind = '${kind}'`;

/** Which rows say who is whom of persons that are noted under a kind, and when they were seen. */
export const whoIsWhom = (kind: 'person' | 'unseen') =>
  ({
    person_links: (database) =>
      `(site_id, person_id) IN (${persons(database, kind)}) OR (site_id, target) IN (${persons(database, kind)})`,
    person_splits: (database) =>
      `hasAny(arrayConcat(moved, stayed), (SELECT groupArray(value) FROM ${database}.erasing WHERE kind = '${kind}'))`,
    person_seen: (database) =>
      `(site_id, person_hash) IN (SELECT site_id, cityHash64(value) FROM ${database}.erasing WHERE kind = '${kind}')`,
  }) as const satisfies Record<string, (database: string) => string>;

/** Which rows of each table are those of the persons. */
const DELETED = {
  delivery_outcomes: (database) =>
    `(site_id, ${EVENT_OF_ROW.delivery_outcomes}) IN (${noted(`${database}.erasing`, 'event')})`,
  duplicates: (database) => `(site_id, ${EVENT_OF_ROW.duplicates}) IN (${noted(`${database}.erasing`, 'event')})`,
  repeated_events: (database) =>
    `(site_id, event_hash) IN (${noted(`${database}.erasing`, 'id')}) AND NOT ((site_id, event_hash) IN (${noted(`${database}.erasing`, 'shared')}))`,
  ...whoIsWhom('person'),
  merged_persons: (database) =>
    `key IN (SELECT cityHash64(site_id, cityHash64(value)) FROM ${database}.erasing WHERE kind = 'person')
       OR actor IN (SELECT cityHash64(value) FROM ${database}.erasing WHERE kind = 'person')`,
  cohort_members: (database) => `(site_id, kind, value) IN (SELECT site_id, kind, value FROM ${database}.erasing)`,
  event_rows: (database) =>
    `(site_id, arrived_person_id) IN (${persons(database)}) OR ((site_id, event_hash) IN (${noted(`${database}.erasing`, 'id')}) AND (site_id, ${EVENT_OF_ROW.event_rows}) IN (${noted(`${database}.erasing`, 'event')}))`,
} as const satisfies Record<string, (database: string) => string>;

type ErasedTable = keyof typeof DELETED;
/** Those from which a person is deleted. */
export const PERSON_TABLES = Object.keys(DELETED) as readonly ErasedTable[];

/** Rows of a site in one table. */
interface SiteRows {
  place: string;
  count: number;
}

export type SiteEraser = ReturnType<typeof createSiteEraser>;

const MERGED = 'merged_persons';
/** Those that name the site; in this order, as what was merged is found by its links. */
export const SITE_TABLES = [
  ...['delivery_outcomes', 'duplicates', 'repeated_events', 'inventory'],
  ...['person_links', 'person_splits', 'person_seen', 'cohort_members', 'event_rows'],
] as const;
type SiteTable = (typeof SITE_TABLES)[number];

/** Erases one site after the other. Each step may be repeated, also by another process. Everything throws WarehouseError. */
export function createSiteEraser(warehouse: Warehouse, cluster: Cluster | null) {
  /** A site's id is letters, digits and what joins them: it may stand in a statement, and tells whose mutation it is. */
  function deletionOf(site: string) {
    const isOf = `site_id = '${site}'`;
    const named = Object.fromEntries(SITE_TABLES.map((table) => [table, () => isOf])) as Record<
      SiteTable,
      () => string
    >;
    const merged = (database: string): string =>
      `key IN (SELECT cityHash64(site_id, cityHash64(person_id)) FROM ${database}.person_links WHERE ${isOf})`;
    return createRowDeletion(warehouse, cluster, { ...named, [MERGED]: merged }, isOf);
  }

  return {
    /** How many rows of the site there are in each table. */
    count: async (site: string): Promise<SiteRows[]> => {
      const counts = SITE_TABLES.map(
        (table) =>
          `SELECT '${table}' AS place, toFloat64(count()) AS count FROM ${table} WHERE site_id = {site:String}`,
      );
      return select<SiteRows>(warehouse, counts.join(' UNION ALL '), { site }, SIGNS_OF_LIFE);
    },
    /** Begins to delete which persons were merged; what they are found by is deleted after that. */
    deleteMerged: (site: string): Promise<void> => deletionOf(site).begin(MERGED),
    deleteRows: async (site: string): Promise<void> => {
      const deletion = deletionOf(site);
      for (const table of SITE_TABLES) await deletion.begin(table);
    },
    /** The tables from which rows of the site are still being deleted, on any server, each with whether that fails. */
    underWay: (site: string) => deletionOf(site).underWay(),
    /** Loads the persons again that queries resolve by. */
    end: (): Promise<void> => reloadPersons(warehouse, cluster),
  };
}

/** Which rows of each table are meant, by the name of the database; `IN` of a list of another table is meant on every server. */
type Conditions<Table extends string> = Readonly<Record<Table, (database: string) => string>>;

/** Everything throws WarehouseError, and may be repeated, also by another process. */
export function createRowDeletion<Table extends string>(
  warehouse: Warehouse,
  cluster: Cluster | null,
  conditions: Conditions<Table>,
  /** What stands in each condition, and in no mutation of others: by it they are known again. */
  mark: string,
) {
  const tables = Object.keys(conditions) as Table[];

  const isLocal = cluster?.isReplicated === false;

  /** The tables from which rows are still being deleted, of one server or of any, each with whether that fails. */
  async function underWayIn(server: Place['server'], mutations: string): Promise<Map<Table, 'runs' | 'fails'>> {
    const rows = await select<{ name: string; fails: number }>(
      server,
      `SELECT table AS name, max(latest_fail_reason != '') AS fails FROM ${mutations}
       WHERE database = currentDatabase() AND NOT is_done AND NOT is_killed AND position(command, {mark:String}) > 0 GROUP BY name`,
      { mark },
      SIGNS_OF_LIFE,
    );
    const tableOf = new Map(tables.map((table) => [localTable(table, cluster), table]));
    return new Map(
      rows.flatMap(({ name, fails }) => {
        const table = tableOf.get(name);
        return table === undefined ? [] : [[table, fails ? 'fails' : 'runs'] as const];
      }),
    );
  }

  async function conditionOf(server: Place['server'], table: Table): Promise<string> {
    const [row] = await select<{ name: string }>(server, 'SELECT currentDatabase() AS name', {}, SIGNS_OF_LIFE);
    return conditions[table](row?.name ?? 'default');
  }

  async function hasAnyAt(server: Place['server'], name: string, table: Table): Promise<boolean> {
    const condition = (await conditionOf(server, table)).replaceAll(' IN (', ' GLOBAL IN (');
    const query = `SELECT 1 AS found FROM ${name} WHERE ${condition} LIMIT 1`;
    return (await select(server, query, {}, SIGNS_OF_LIFE)).length > 0;
  }

  /** Where each server is told by itself, each also looks for itself: what one has begun, another may not have. */
  async function beginAt({ server, on }: Place, table: Table): Promise<void> {
    const local = localTable(table, cluster);
    const mutations = isLocal ? 'system.mutations' : ofAllServers('system.mutations', cluster);
    if (!(await hasAnyAt(server, isLocal ? local : table, table))) return;
    if ((await underWayIn(server, mutations)).has(table)) return;
    // The server does not know that what the condition reads does not change while this goes on.
    await run(
      server,
      `ALTER TABLE ${local}${on} DELETE WHERE ${await conditionOf(server, table)}
       SETTINGS mutations_sync = 0, allow_nondeterministic_mutations = 1`,
      {},
      SIGNS_OF_LIFE,
    );
  }

  return {
    /** Whether a table has any such row, on any server. */
    hasAny: (table: Table): Promise<boolean> => hasAnyAt(warehouse, table, table),
    /** Begins to delete from a table, where there is anything and nothing of the kind is under way. */
    begin: (table: Table): Promise<void> => everywhere(warehouse, cluster, (place) => beginAt(place, table)),
    /** The tables from which rows are still being deleted, on any server, each with whether that fails. */
    underWay: () => underWayIn(warehouse, ofAllServers('system.mutations', cluster)),
  };
}
