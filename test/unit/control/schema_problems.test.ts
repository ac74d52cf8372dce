import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { alertInput } from '#pipelines/alerts/alert.ts';
import { schemaProblems } from '#services/control/route.ts';
import { cohortInput } from '#services/control_api/cohorts.ts';

const words = (count: number): string[] => Array.from({ length: count }, (_, at) => `word${at}`);

test.each([
  [20, `must be one of: ${words(20).join(', ')}`],
  [21, 'must be equal to one of the allowed values'],
])('of %i allowed values the problem says %j', (count, message) => {
  const schema = Type.Object({ kind: Type.Enum(words(count)) });
  expect(schemaProblems(schema, { kind: 'other' })).toEqual([{ code: 'field_malformed', field: 'kind', message }]);
});

const COHORT = { id: 'x', name: 'X' };
const ALERT = { id: 'x', name: 'X', kind: 'question', channels: [{ id: 'a', kind: 'slack' }] };

test.each([
  [{ did: {}, times: -1 }, 'conditions[0].times: must be >= 0'],
  [
    { did: { filters: [{ any: [{ field: { column: 'nope' }, is: 'set' }] }] } },
    'conditions[0].did.filters[0].any[0].field.column: must be equal to one of the allowed values',
  ],
  [
    { field: { person: { column: 'geo_country' }, seen: 'lost' }, is: 'equal', to: ['BE'] },
    'conditions[0].field.seen: must be one of: first, last',
  ],
  [{ field: { cohort: 'vips' }, is: 'equal' }, 'conditions[0].is: must be one of: in, not_in'],
  ['x', 'conditions[0]: must be object'],
  [{ is: 'rose', percent: 10 }, 'condition.against: is missing'],
])('of a union only what was meant is told: of %j %s', (condition, told) => {
  const [schema, value] = told.startsWith('conditions')
    ? [cohortInput, { ...COHORT, conditions: [condition, { did: {} }] }]
    : [alertInput, { ...ALERT, condition }];
  expect(schemaProblems(schema, value).map(({ field, message }) => `${field}: ${message}`)).toEqual([told]);
});
