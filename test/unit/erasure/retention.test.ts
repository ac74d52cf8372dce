import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dueSweep, type LinkedPerson, lapsedSites, stillUnseen, wholeGroups } from '#pipelines/erasure/retention.ts';
import { cases } from '#test/harness/environment.ts';

const DAY_MS = 86_400_000;
const AT = (day: number, hour: number): number => Date.UTC(2026, 10, day, hour);
const site = (site_id: string, person_days: number | null) => ({ site_id, person_days });
const HOUR = 3;

test.for([
  ['is set', undefined, 20, null],
  ['was begun and not ended', 1_000, 20, null],
  ['was done before the hour', AT(19, 4), 20, AT(19, 4) - 60 * DAY_MS],
  ['was done at the hour', AT(20, 3), 20, undefined],
  ['was done after it', AT(20, 4), 20, undefined],
  ['was done by a clock that was ahead', AT(24, 4), 20, null],
  ['was done so long ago that rows may be gone', AT(12, 4), 20, null],
] as const)('a site whose sweep %s', ([, markMs, day, sinceMs]) => {
  const marks = new Map(markMs === undefined ? [] : [['shop', markMs]]);
  const due = dueSweep([site('shop', 400)], marks, AT(day, 5), HOUR, 400);
  const notedMs = sinceMs === null ? 0 : markMs;
  expect(due).toEqual(sinceMs === undefined ? null : { siteId: 'shop', days: 400, sinceMs, notedMs });
});

test('where events are kept for less than a week, what was noted as long ago holds no more', () => {
  const marks = new Map([['shop', AT(17, 4)]]);
  const sinceOf = (own: number | null, all: number) =>
    dueSweep([{ ...site('shop', 30), event_days: own }], marks, AT(20, 5), HOUR, all)?.sinceMs;
  const known = AT(17, 4) - 60 * DAY_MS;
  expect([sinceOf(3, 400), sinceOf(4, 400), sinceOf(null, 3), sinceOf(null, 4), sinceOf(null, 0)]).toEqual([
    ...[null, known, null, known, known],
  ]);
});

test('before the hour it is that of the day before which counts', () => {
  const due = (markMs: number) => dueSweep([site('shop', 30)], new Map([['shop', markMs]]), AT(20, 2), HOUR, 0);
  expect(due(AT(19, 4))).toBeNull();
  expect(due(AT(19, 2))).toMatchObject({ siteId: 'shop' });
});

test('the site that waits longest comes first, and those that keep persons never; of these nothing is kept', () => {
  const sites = [site('ever', null), { site_id: 'old' }, site('late', 30), site('first', 60)];
  const marks = new Map([
    ['ever', AT(1, 4)],
    ['late', AT(19, 4)],
    ['first', AT(18, 4)],
    ['gone', AT(1, 4)],
  ]);
  expect(dueSweep(sites, marks, AT(20, 5), HOUR, 0)).toMatchObject({ siteId: 'first', days: 60 });
  expect(lapsedSites(sites, marks)).toEqual(['ever', 'gone']);
  expect(dueSweep(sites.slice(0, 2), marks, AT(20, 5), HOUR, 0)).toBeNull();
});

const linked = fc
  .array(fc.tuple(fc.constantFrom(...'abcdef'.split('')), fc.integer({ min: 1, max: 9 })), { maxLength: 12 })
  .map((pairs) =>
    pairs
      .map(([leader, version], at): LinkedPerson => ({ person: `${leader}${at}`, leader, version }))
      .toSorted((a, b) => (a.leader === b.leader ? 0 : a.leader < b.leader ? -1 : 1)),
  );

test('slices of any length that holds a group give every group once and whole', () => {
  fc.assert(
    fc.property(linked, fc.integer({ min: 13, max: 20 }), (persons, most) => {
      const groups = wholeGroups(persons, Infinity);
      const largest = Math.max(0, ...groups.map((group) => group.persons.length));
      for (const limit of [largest + 1, most]) {
        const seen: string[][] = [];
        for (let after = ''; ; ) {
          const some = wholeGroups(persons.filter(({ leader }) => leader > after).slice(0, limit), limit);
          const last = some.at(-1);
          if (last === undefined) break;
          seen.push(...some.map((group) => group.persons));
          after = last.leader;
        }
        expect(seen).toEqual(groups.map((group) => group.persons));
      }
    }),
    { numRuns: cases(200) },
  );
});

test('who is joined, or linked again, or seen while it takes is not forgotten', () => {
  const group = (leader: string, persons: string[], version = 1) => ({ leader, persons, version });
  const found = [group('a', ['a', 'b']), group('c', ['c']), group('d', ['d']), group('e', ['e'])];
  const again = [group('a', ['a', 'b']), group('c', ['c', 'x']), group('d', ['d'], 2)];
  expect(stillUnseen(found, again)).toEqual([found[0]]);
});
