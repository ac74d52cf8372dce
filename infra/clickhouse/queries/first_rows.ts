import type { Selection } from '#pipelines/query/shapes.ts';
import { FIRST_ROW } from './conditions.ts';
import type { TimeSpan } from './interval_starts.ts';
import type { Binder } from './statement.ts';

/** Events of one site in a time, and what is wanted of them. */
export interface WantedRows {
  siteId: string;
  span: TimeSpan;
  /** Which events may be wanted at all; those of some names are found by the sort key. */
  selections: readonly Selection[];
  /** What an event must satisfy besides. */
  conditions: readonly string[];
  /** What the result has of each event: expressions over event_rows by the names they are given. */
  columns: Readonly<Record<string, string>>;
}

/**
 * A SELECT with the columns of each event once; of one that is stored more than once the first by FIRST_ROW counts.
 *
 * Only events whose digest is there twice are gathered, so that the others pass through as they are read: what is kept of an
 * event is the 16 bytes that find the former, and the server moves them to disk where they are many (SPILLED).
 */
export function firstRowsSql(wanted: WantedRows, binder: Binder): string {
  const { columns, conditions } = wanted;
  const keys = keyConditions(wanted, binder);
  const where = [...keys, ...conditions].join(' AND ');
  const repeated = `SELECT event_hash FROM event_rows WHERE ${keys.join(' AND ')} GROUP BY event_hash HAVING count() > 1`;
  const names = Object.keys(columns);
  const single = Object.entries(columns).map(([name, of]) => `${of} AS ${name}`);
  const first = names.map((name, index) => `first.${index + 1} AS ${name}`);
  return `SELECT ${single.join(', ')} FROM event_rows WHERE ${where} AND event_hash GLOBAL NOT IN (${repeated})
UNION ALL SELECT ${first.join(', ')}
FROM (SELECT argMin(tuple(${Object.values(columns).join(', ')}), ${FIRST_ROW}) AS first
  FROM event_rows WHERE ${where} AND event_hash GLOBAL IN (${repeated}) GROUP BY event_id)`;
}

/** Conditions that the sort key, or digests alone, can decide. */
function keyConditions({ siteId, span, selections }: WantedRows, binder: Binder): string[] {
  const names = selections.flatMap(({ events = [] }) => events);
  return [
    `site_id = ${binder.bind(siteId, 'String')}`,
    `timestamp >= ${span.from}`,
    `timestamp < ${span.to}`,
    ...(selections.every(({ events }) => events !== undefined)
      ? [`event IN ${binder.bind([...new Set(names)], 'Array(String)')}`]
      : []),
  ];
}

/** From here on groups are kept on disk, so that memory does not grow with them. */
const GROUPS_IN_MEMORY = 512 * 1024 ** 2;

/** Ends a statement over firstRowsSql. */
export const SPILLED = `SETTINGS max_bytes_before_external_group_by = ${GROUPS_IN_MEMORY}`;
