import type { Field, Filter } from '#pipelines/query/filter_shapes.ts';
import { hasValuesOfFew } from '#pipelines/query/personal_fields.ts';
import { allOf, conditionOf, textOf } from './conditions.ts';
import type { TimeSpan } from './interval_starts.ts';
import type { Binder } from './statement.ts';

/** The digest of the empty text, which stands for no value. */
export const NO_DIGEST = 'toUInt64(0)';

/**
 * The digest of a text as UInt64. Statements that keep a text of each event keep its digest, since numbers are gathered, sorted
 * and compared in a fraction of the time of texts.
 */
export const digestOfText = (text: string): string => `if(empty(${text}), ${NO_DIGEST}, cityHash64(${text}))`;

/**
 * `digest` and `text` of all different texts that a field has in a time.
 *
 * @param few Of a field that can have values of few persons, those that fewer have among the events that pass are left out.
 */
export function textsSql(
  siteId: string,
  { from, to }: TimeSpan,
  field: Field,
  binder: Binder,
  few: { leastPersons: number; filters: readonly Filter[] } = { leastPersons: 1, filters: [] },
): string {
  const isCut = few.leastPersons > 1 && hasValuesOfFew(field);
  const passes = allOf(few.filters.map((filter) => conditionOf(filter, binder)));
  const counted = isCut ? `, actor, ${passes} AS passing` : '';
  const found = binder.withNames(`SELECT ${textOf(field, binder)} AS found${counted} FROM event_rows
  WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to}`);
  return `SELECT ${digestOfText('found')} AS digest, any(found) AS text
FROM (${found}) GROUP BY digest${isCut ? ` HAVING uniqExactIf(actor, passing) >= ${few.leastPersons} OR digest = 0` : ''}`;
}
