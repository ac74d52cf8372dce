import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { schemaProblems } from '#services/control/route.ts';

const words = (count: number): string[] => Array.from({ length: count }, (_, at) => `word${at}`);

test.each([
  [20, `must be one of: ${words(20).join(', ')}`],
  [21, 'must be equal to one of the allowed values'],
])('of %i allowed values the problem says %j', (count, message) => {
  const schema = Type.Object({ kind: Type.Enum(words(count)) });
  expect(schemaProblems(schema, { kind: 'other' })).toEqual([{ code: 'field_malformed', field: 'kind', message }]);
});
