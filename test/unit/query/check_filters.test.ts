import { expect, test } from 'vitest';
import type { Filter } from '#pipelines/analytics/filters.ts';
import { funnelShape } from '#pipelines/analytics/funnels/query.ts';
import { withPersonsOf } from '#pipelines/analytics/query_rewrites.ts';
import { filterProblems } from '#pipelines/analytics/question.ts';
import { schemaProblems } from '#services/control/route.ts';

const country: Filter = { field: { column: 'country' }, is: 'set' };
const ofPerson: Filter = { field: { person: { column: 'country' }, seen: 'first' }, is: 'set' };
const many = (count: number, filter: Filter): Filter[] => Array.from({ length: count }, () => filter);
const funnel = (filters: unknown) => ({ from: 0, to: 1, window_ms: 1, steps: [{ filters }, {}] });

test('the conditions of a list of filters are counted, those of its groups too', () => {
  const groups = (counts: number[]) => counts.map((count) => ({ any: [{ all: many(count, country) }] }));
  expect(filterProblems(funnel(groups([20, 20, 10])))).toEqual([]);
  expect(filterProblems(funnel(groups([20, 20, 11])))).toMatchObject([{ code: 'too_many', field: 'steps[0].filters' }]);
});

test('the conditions on persons are counted over the whole query', () => {
  const query = (count: number) => ({ ...funnel(many(3, ofPerson)), filters: [{ any: many(count, ofPerson) }] });
  expect(filterProblems(query(2))).toEqual([]);
  expect(filterProblems(query(3))).toMatchObject([{ code: 'too_many', field: 'filters[0].any[2]' }]);
});

test('a date that is none is refused by its place', () => {
  const filters: Filter[] = [country, { all: [{ field: { property: ['at'] }, is: 'before', to: '2026-02-30' }] }];
  expect(filterProblems(funnel(filters))).toMatchObject([
    { code: 'field_malformed', field: 'steps[0].filters[1].all[0].to' },
  ]);
});

test.each([
  ['one in which there are groups three deep', [{ all: [{ any: [{ all: [country] }] }] }], true],
  ['one in which they are four deep', [{ all: [{ any: [{ all: [{ any: [country] }] }] }] }], false],
  ['an empty group', [{ any: [] }], false],
  ['a group of both kinds', [{ any: [country], all: [country] }], false],
  ['elements of an array', [{ field: { property: ['a'], each: [] }, is: 'equal', to: [1] }], true],
  [
    'somebody else\u2019s events',
    [{ field: { person: { column: 'value' }, seen: 'last', among: {} }, is: 'set' }],
    false,
  ],
  ['a pattern that is too long', [{ field: { column: 'city' }, is: 'matching', to: 'a'.repeat(501) }], false],
  ['a number where a date is compared', [{ field: { column: 'city' }, is: 'after', to: 5 }], false],
])('a list of filters may have %s: %j', (_name, filters, taken) => {
  expect(schemaProblems(funnelShape, funnel(filters)).length === 0).toBe(taken);
});

test('values of persons are told by the events of the site until the end of the time that is asked about', () => {
  const among = (before: number | null) => ({
    ...ofPerson,
    field: { ...ofPerson.field, among: { siteId: 'shop', before, since: 3 } },
  });
  const { filters, steps } = withPersonsOf(
    { from: 0, to: 5, filters: [{ any: [ofPerson] }], steps: [{ filters: [ofPerson] }] },
    'shop',
    3,
  );
  expect([filters, steps]).toEqual([[{ any: [among(5)] }], [{ filters: [among(5)] }]]);
  expect(withPersonsOf({ filters: [ofPerson] }, 'shop', 3)).toEqual({ filters: [among(null)] });
});
