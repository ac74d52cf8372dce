import type { Condition } from './filter_shapes.ts';
import { changedQuery } from './walk_query.ts';

const SHA256 = /^[0-9a-f]{64}$/i;

/**
 * A query that looks for phone numbers by their keyed hashes, as rows have them, where whoever asks has named the SHA-256 of
 * the E.164 form: nobody but the service has the key.
 *
 * @param hmacsOf The keyed hashes of a number that rows may have: one for each key there was.
 */
export function withPhoneHmacs<Query>(query: Query, hmacsOf: (sha256: string) => readonly string[]): Query {
  const keyed = (value: string | number | boolean): readonly (string | number | boolean)[] =>
    typeof value === 'string' && SHA256.test(value) ? hmacsOf(value.toLowerCase()) : [value];
  return changedQuery(query, {
    condition: (condition) =>
      isOfPhone(condition) && Array.isArray(condition.to)
        ? ({ ...condition, to: condition.to.flatMap(keyed) } as Condition)
        : condition,
  });
}

function isOfPhone(condition: Condition): condition is Extract<Condition, { is: 'equal' | 'not_equal' }> {
  const field = 'person' in condition.field ? condition.field.person : condition.field;
  return 'column' in field && field.column === 'phone_hmac';
}
