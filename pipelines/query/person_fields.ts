import type { Condition, PersonField } from './filter_shapes.ts';
import { changedQuery } from './walk_query.ts';

/**
 * A query whose conditions on persons say whose events tell a person's values: all those of the site before the end of the
 * query's time, so that the same question about the past has the same answer.
 *
 * @param since No event from before is asked about, in milliseconds.
 */
export function withPersonsOf<Query>(query: Query, siteId: string, since: number): Query {
  return changedQuery(query, { condition: (condition, before) => amongEvents(condition, { siteId, before, since }) });
}

function amongEvents(condition: Condition, among: NonNullable<PersonField['among']>): Condition {
  if (!('person' in condition.field)) return condition;
  return { ...condition, field: { ...condition.field, among } };
}
