import type { Selection } from '#pipelines/query/shapes.ts';
import type { TimeSpan } from './interval_starts.ts';
import { countsOnce } from './repeats.ts';
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

/** A SELECT with the columns of each event once; of one that is stored more than once the first by FIRST_ROW counts. */
export function firstRowsSql(wanted: WantedRows, binder: Binder): string {
  const { siteId, columns, conditions } = wanted;
  const ofSite = `site_id = ${binder.bind(siteId, 'String')}`;
  const keys = [ofSite, ...keyConditions(wanted, binder)];
  const named = Object.entries(columns).map(([name, of]) => (name === of ? name : `${of} AS ${name}`));
  const where = [...keys, ...conditions, countsOnce(ofSite, keys.join(' AND '), binder)];
  return binder.shared(binder.withNames(`SELECT ${named.join(', ')} FROM event_rows WHERE ${where.join(' AND ')}`));
}

/** Conditions beside that of the site which the sort key, or digests alone, can decide. */
function keyConditions({ span, selections }: WantedRows, binder: Binder): string[] {
  const names = selections.flatMap(({ events = [] }) => events);
  return [
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
