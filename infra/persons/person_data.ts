// Where data of a person is, and all that is known to be theirs, across merges.

import { SIGNS_OF_LIFE, select, type Warehouse } from '#infra/clickhouse/client.ts';
import { EVENT_OF_ROW } from '#infra/clickhouse/erasure/erase_rows.ts';
import { createFairGate } from '#infra/concurrency/gates.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { readTopic } from '#infra/kafka/read_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { gather } from '#infra/redis/client.ts';
import type { Redis } from '#infra/redis/connection.ts';
import { createPersonIndexEraser } from '#infra/redis/indexes/erase_persons.ts';
import { createIdentityStore } from '#infra/redis/indexes/identity_index.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { identifierOfRow, type PersonSubject, sizeOf, together } from '#pipelines/erasure/subject.ts';
import { basePersonId, JOINING } from '#pipelines/identity/identity.ts';
import { customerAnonymousId } from '#pipelines/privacy/hash_identifiers.ts';
import { type IdentityLink, isOfNode } from '#schemas/records.ts';

/** Redis, Kafka or ClickHouse did not answer; it is safe to ask again. */
class PersonDataError extends Error {
  readonly code = 'person_data_unavailable';
}

/** Where a record of identity.links stands. */
export interface LinkPlace {
  key: string;
  partition: number;
}

/** A record of identity.links about some persons. */
export interface FoundLink extends LinkPlace {
  link: IdentityLink;
}

/** Rows of one person in one table of ClickHouse. */
export interface FoundRows {
  table: string;
  rows: number;
}

/** A page of a person's events, oldest first. */
export interface EventsPage {
  events: Record<string, unknown>[];
  /** Where the next page begins; null where there is none. */
  next: string | null;
}

export type PersonData = ReturnType<typeof createPersonData>;

interface DataParts {
  session: KafkaSession;
  registry: Registry;
  redis: Redis;
  warehouse: Warehouse;
  identitySecret: Buffer;
}

/** Of one person; more are no person's. */
const IDENTIFIERS_MAX = 1_000;
const DISTINCT_IDS_MAX = 1_000;
/** What is found of a person may lead to more; each round looks one step further. */
const ROUNDS_MAX = 5;

/** Each question reads columns of all rows of a site: so many at once, of all sites and of one, and so many of one that wait. */
const QUESTIONS = { atOnce: 8, groupAtOnce: 4, waitingMax: 100 };
const NEVER = new AbortController().signal;
/** Of the properties of a page of events: whoever sends events makes them as large as a request may be. */
const PAGE_BYTES_MAX = 16 * 1024 ** 2;
/** Who asks of links shares the reading of all of the topic with who asks meanwhile; so many may wait, for so long. */
const READERS_MAX = 100;
const READ_MS_MAX = 600_000;

const IS_THEIRS = `site_id = {site:String} AND (arrived_person_id IN {persons:Array(String)}
  OR (email_sha256 != '' AND email_sha256 IN {emails:Array(String)})
  OR (phone_hmac != '' AND phone_hmac IN {phones:Array(String)})
  OR (external_id_sha256 != '' AND external_id_sha256 IN {external_ids:Array(String)}))`;

function parametersOf(siteId: string, { persons, identifiers }: PersonSubject) {
  const valuesOf = (kind: string) => identifiers.flatMap((one) => (one.kind === kind ? [one.value] : []));
  return {
    ...{ site: siteId, persons, emails: valuesOf('email'), phones: valuesOf('phone') },
    external_ids: valuesOf('external_id'),
  };
}

/** Reads what the service has of persons. Everything throws PersonDataError. */
export function createPersonData({ session, registry, redis, warehouse, identitySecret }: DataParts) {
  const store = createIdentityStore(redis);
  const index = createPersonIndexEraser(redis);
  const askLinks = gather(
    (_: string, asked: readonly ((link: IdentityLink) => object | null)[]) => failing(() => readAllLinks(asked)),
    {
      ...{ questionsMax: READERS_MAX, waitingMax: READERS_MAX, waitMsMax: READ_MS_MAX },
      deadlineExceeded: () => new PersonDataError('person not read: others are read'),
    },
  );
  const gate = createFairGate(QUESTIONS);
  async function ask<Row>(query: string, parameters: { site: string } & Record<string, unknown>): Promise<Row[]> {
    const leave = await gate.enter(parameters.site, NEVER);
    try {
      return await select<Row>(warehouse, query, parameters, SIGNS_OF_LIFE);
    } finally {
      leave();
    }
  }

  /** Who is one with them, and who holds their identifiers. */
  async function groupOf(siteId: string, subject: PersonSubject): Promise<PersonSubject> {
    const nodes = [...new Set(subject.identifiers.map(({ node }) => node))];
    const holders = (await index.holdersOf(siteId, nodes)).flatMap((holder) => (holder === null ? [] : [holder]));
    const persons = [...new Set([...subject.persons, ...holders])];
    const group = await store.groupsOf(siteId, persons);
    return { persons: [...new Set([...persons, ...group.map(({ person }) => person)])], identifiers: [] };
  }

  /** Identifiers that their rows say and one of them holds: what a row says beside may be somebody else's. */
  async function identifiersOf(siteId: string, persons: readonly string[]): Promise<PersonSubject> {
    const rows = await ask<{ email: string; phone: string; external_id: string }>(
      `SELECT DISTINCT email_sha256 AS email, phone_hmac AS phone, external_id_sha256 AS external_id FROM event_rows
       WHERE site_id = {site:String} AND arrived_person_id IN {persons:Array(String)} LIMIT ${IDENTIFIERS_MAX}`,
      { site: siteId, persons },
    );
    const said = rows.flatMap((row) =>
      JOINING.flatMap((kind) => identifierOfRow(identitySecret, siteId, kind, row[kind]) ?? []),
    );
    const nodes = [...new Set(said.map(({ node }) => node))];
    const holders = await index.holdersOf(siteId, nodes);
    const held = new Set(nodes.filter((_, at) => persons.includes(holders[at] ?? '')));
    const theirs = said.filter(({ node }) => held.has(node));
    // That of a phone number is of its bare hash, which no row has.
    const bare = theirs.filter(({ kind }) => kind !== 'phone');
    const anonymous = bare.map(({ value }) => basePersonId(siteId, customerAnonymousId(identitySecret, siteId, value)));
    return { persons: anonymous, identifiers: theirs };
  }

  return {
    /** All that is known to be theirs, found from what is known already. */
    resolve: (siteId: string, from: PersonSubject): Promise<PersonSubject> =>
      failing(async () => {
        let known = from;
        for (let round = 1; round <= ROUNDS_MAX; round++) {
          const group = together(known, await groupOf(siteId, known));
          const next = together(group, await identifiersOf(siteId, group.persons));
          const isAll = sizeOf(next) === sizeOf(known);
          known = next;
          if (isAll) break;
        }
        return known;
      }),
    /** How many rows of them each table has, and under which distinct ids their events came. */
    countRows: (siteId: string, subject: PersonSubject): Promise<{ tables: FoundRows[]; distinctIds: string[] }> =>
      failing(async () => {
        const parameters = parametersOf(siteId, subject);
        const events = `SELECT DISTINCT ${EVENT_OF_ROW.event_rows} FROM event_rows WHERE ${IS_THEIRS}`;
        const count = async (table: string, where: string): Promise<FoundRows> => {
          const query = `SELECT toUInt32(count()) AS rows FROM ${table} WHERE ${where}`;
          const [row] = await ask<{ rows: number }>(query, parameters);
          return { table, rows: row?.rows ?? 0 };
        };
        const of = (event: string): string => `site_id = {site:String} AND ${event} GLOBAL IN (${events})`;
        const tables = await Promise.all([
          count('event_rows', IS_THEIRS),
          count('delivery_outcomes', of(EVENT_OF_ROW.delivery_outcomes)),
          count('duplicates', of(EVENT_OF_ROW.duplicates)),
          count('person_links', 'site_id = {site:String} AND person_id IN {persons:Array(String)}'),
        ]);
        const ids = await ask<{ distinct_id: string }>(
          `SELECT DISTINCT distinct_id FROM event_rows
           WHERE site_id = {site:String} AND arrived_person_id IN {persons:Array(String)} LIMIT ${DISTINCT_IDS_MAX}`,
          parameters,
        );
        return { tables, distinctIds: ids.map(({ distinct_id }) => distinct_id) };
      }),
    /** A page of their events, as the view `events` shows them: of `limit` at the most, and of no more than control may hold. */
    events: (siteId: string, subject: PersonSubject, after: string | null, limit: number): Promise<EventsPage> =>
      failing(async () => {
        const [atMs, id, name] = readCursor(after);
        const page = <Row>(columns: string, most: number): Promise<Row[]> =>
          ask<Row>(
            `SELECT ${columns} FROM events
             WHERE ${IS_THEIRS}
               AND (toUnixTimestamp64Milli(timestamp), event_id, event) > ({at:Int64}, {id:String}, {name:String})
             ORDER BY toUnixTimestamp64Milli(timestamp), event_id, event LIMIT {limit:UInt32}`,
            { ...parametersOf(siteId, subject), at: atMs, id, name, limit: most },
          );
        const sizes = await page<{ bytes: number }>('toUInt32(length(properties)) AS bytes', limit + 1);
        const fitting = fittingOf(sizes.map(({ bytes }) => bytes));
        const events = await page<Record<string, unknown> & { event_id: string; event: string; at: string }>(
          '* EXCEPT (property_texts), toString(toUnixTimestamp64Milli(timestamp)) AS at',
          Math.min(fitting, limit),
        );
        const last = events.at(-1);
        const isLast = events.length === sizes.length || last === undefined;
        const next = isLast ? null : `${last.at}:${JSON.stringify([last.event_id, last.event])}`;
        return { events: events.map(({ at: _at, ...event }) => event), next };
      }),
    /** Every record of identity.links about any of these persons, by site. All of the topic is read. */
    links: (persons: ReadonlyMap<string, ReadonlySet<string>>): Promise<FoundLink[]> =>
      readLinks((link) => {
        const of = persons.get(link.site_id);
        const isTheirs = of?.has(link.person_id) === true || (!isOfNode(link) && of?.has(link.target) === true);
        return isTheirs ? { link } : null;
      }),
    /** Where every record of identity.links of a site is. All of the topic is read. */
    linksOfSite: (siteId: string): Promise<LinkPlace[]> => readLinks(({ site_id }) => (site_id === siteId ? {} : null)),
  };

  /** What is wanted of each record, with its place; null: nothing. */
  async function readLinks<Wanted extends object>(
    wantedOf: (link: IdentityLink) => Wanted | null,
  ): Promise<(LinkPlace & Wanted)[]> {
    return (await askLinks('', wantedOf)) as (LinkPlace & Wanted)[];
  }

  async function readAllLinks(asked: readonly ((link: IdentityLink) => object | null)[]): Promise<LinkPlace[][]> {
    const codec = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
    const found = asked.map((wantedOf) => ({ wantedOf, places: new Map<string, LinkPlace>() }));
    await readTopic(session, TOPICS.links, async ({ key, value }, partition) => {
      const name = key?.toString('utf8') ?? '';
      const read = value === null ? null : await codec.decode(value);
      for (const { wantedOf, places } of found) {
        if (read === null) places.delete(name);
        const wanted = read?.ok ? wantedOf(read.value) : null;
        if (wanted !== null) places.set(name, { key: name, partition, ...wanted });
      }
    });
    return found.map(({ places }) => [...places.values()]);
  }
}

/** Behind which event a page begins: those of one id and time are told apart by their names, which former versions did not say. */
function readCursor(after: string | null): [atMs: string, id: string, name: string] {
  const [, atMs = '-1', rest = ''] = /^(\d+):(.*)$/s.exec(after ?? '') ?? [];
  const [id, name] = readList(rest);
  return typeof id === 'string' && typeof name === 'string' ? [atMs, id, name] : [atMs, rest, ''];
}

function readList(text: string): unknown[] {
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}

/** How many of the first go into a page; one does, however large. */
function fittingOf(sizes: readonly number[]): number {
  let bytes = 0;
  for (const [at, size] of sizes.entries()) {
    bytes += size;
    if (bytes > PAGE_BYTES_MAX) return Math.max(1, at);
  }
  return sizes.length;
}

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new PersonDataError(`person not read: ${error instanceof Error ? error.name : 'error'}`);
  }
}
