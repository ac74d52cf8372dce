// Finds in rows of before an erasure who it was about: by the keyed hashes that are kept of it.

import { identifierOfRow, type PersonSubject, together } from '#pipelines/erasure/subject.ts';
import { erasedIdentifier, erasedPerson } from '#pipelines/erasure/suppression.ts';
import { JOINING } from '#pipelines/identity/identity.ts';
import type { Erasure } from '#schemas/records.ts';
import { readError, SIGNS_OF_LIFE, type Warehouse } from '../client.ts';
import { type Cluster, syncReplicas } from '../cluster.ts';
import { COLUMN_OF, PERSON_TABLES } from './erase_rows.ts';

type Hashed = Pick<Erasure, 'erasure_id' | 'persons' | 'identifiers'>;

/** Who rows are of; and who is linked, split or listed of whom there are no rows. Some are named several times. */
const PERSONS = [
  saidAs('person'),
  'SELECT arrayJoin([person_id, target]) AS value FROM person_links WHERE site_id = {site:String} GROUP BY value',
  'SELECT arrayJoin(arrayConcat(moved, stayed)) AS value FROM person_splits WHERE site_id = {site:String} GROUP BY value',
  listedAs('person'),
];
/** Large sites have more than fits memory beside questions. */
const GENTLY = { ...SIGNS_OF_LIFE, max_threads: 2, max_bytes_before_external_group_by: '1073741824' } as const;
const NOBODY: PersonSubject = { persons: [], identifiers: [] };

export type RestoredPersons = ReturnType<typeof createRestoredPersons>;

/** All persons of a site are looked at, one after the other. Everything throws WarehouseError. */
export function createRestoredPersons(warehouse: Warehouse, cluster: Cluster | null, secret: Buffer) {
  async function find(siteId: string, erasures: readonly Hashed[]): Promise<Map<string, PersonSubject>> {
    const found = new Map<string, PersonSubject>();
    const add = (ids: readonly string[], subject: PersonSubject): void => {
      for (const id of ids) found.set(id, together(found.get(id) ?? NOBODY, subject));
    };
    const [byPerson, byIdentifier] = [idsBy(erasures, 'persons'), idsBy(erasures, 'identifiers')];
    for (const query of PERSONS) {
      await eachValue(warehouse, siteId, query, (value) => {
        add(byPerson.get(erasedPerson(secret, siteId, value)) ?? [], { persons: [value], identifiers: [] });
      });
    }
    for (const kind of JOINING) {
      for (const query of [saidAs(kind), listedAs(kind)]) {
        await eachValue(warehouse, siteId, query, (value) => {
          const identifier = identifierOfRow(secret, siteId, kind, value);
          if (identifier === null) return;
          const ids = byIdentifier.get(erasedIdentifier(secret, siteId, identifier.node)) ?? [];
          add(ids, { persons: [], identifiers: [identifier] });
        });
      }
    }
    return found;
  }

  return {
    /** A replica may not yet have fetched what was restored on another one, and is then asked what there is to be deleted. */
    sync: (): Promise<void> => syncReplicas(warehouse, cluster, PERSON_TABLES),
    find,
  };
}

/** In rows of events. */
function saidAs(kind: keyof typeof COLUMN_OF): string {
  return `SELECT ${COLUMN_OF[kind]} AS value FROM event_rows WHERE site_id = {site:String} GROUP BY value`;
}

/** Among members of cohorts that are lists. */
function listedAs(kind: keyof typeof COLUMN_OF): string {
  return `SELECT value FROM cohort_members WHERE site_id = {site:String} AND kind = '${kind}' GROUP BY value`;
}

/** By hash, the erasures that have it. */
function idsBy(erasures: readonly Hashed[], field: 'persons' | 'identifiers'): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const erasure of erasures) {
    for (const hash of erasure[field]) ids.set(hash, [...(ids.get(hash) ?? []), erasure.erasure_id]);
  }
  return ids;
}

async function eachValue(
  warehouse: Pick<Warehouse, 'query'>,
  site: string,
  query: string,
  onValue: (value: string) => void,
): Promise<void> {
  try {
    const answer = await warehouse.query({
      ...{ query, query_params: { site }, format: 'JSONEachRow' },
      clickhouse_settings: GENTLY,
    });
    for await (const rows of answer.stream<{ value: string }>()) {
      for (const row of rows) onValue(row.json().value);
    }
  } catch (error) {
    throw readError(error);
  }
}
