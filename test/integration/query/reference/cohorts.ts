import type { CohortMember } from '#infra/clickhouse/cohort_members.ts';
import type { CohortDefinition } from '#pipelines/analytics/cohorts/cohort.ts';
import type { Ledger } from './reference_ledger.ts';
import type { World } from './worlds.ts';

/** The cohorts of generated worlds; those without conditions are lists. A cohort stands behind those that it names. */
export const COHORTS: readonly CohortDefinition[] = [
  { id: 'listed', name: 'Some of a list' },
  { id: 'buyers', name: 'Bought twice', conditions: [{ did: { events: ['purchase'] }, times: 2 }] },
  {
    id: 'quiet',
    name: '"Nothing" in September, it\'s {quiet:String} -- \u{1f4a1}',
    conditions: [
      { did: { events: ['purchase'] }, is: 'exactly', times: 0, since: '2026-09-05', until: '2026-09-25' },
      { did: {}, is: 'at_most', times: 12 },
    ],
  },
  {
    id: 'mixed',
    name: 'Mixed',
    match: 'any',
    conditions: [
      {
        did: { events: ['signup', 'scroll'], filters: [{ field: { property: ['plan'] }, is: 'equal', to: ['paid'] }] },
        is: 'exactly',
        times: 1,
      },
      { field: { person: { property: ['utm', 'campaign'] }, seen: 'last' }, is: 'equal', to: ['brand'] },
      { field: { cohort: 'quiet' }, is: 'not_in' },
    ],
  },
  {
    id: 'deep',
    name: 'Of others',
    conditions: [
      { field: { cohort: 'mixed' }, is: 'in' },
      { field: { cohort: 'listed' }, is: 'not_in' },
      { did: { filters: [{ field: { cohort: 'buyers' }, is: 'in' }] }, times: 3, until: '2026-10-10' },
    ],
  },
  {
    id: 'near',
    name: 'Of a place, and by a refund',
    match: 'any',
    conditions: [
      { field: { person: { column: 'geo_city' }, seen: 'last' }, is: 'equal', to: ['Paris'] },
      { field: { person: { visit: 'geo_region' }, seen: 'first' }, is: 'equal', to: ['Bayern'] },
      { did: { events: ['refund'], filters: [{ field: { column: 'browser' }, is: 'set' }] }, last_days: 55 },
    ],
  },
];

/** Whether a person is in the list, by the last digit of their id. */
export const isListed = (person: string): boolean => /[0-5]$/.test(person);

/** Who is in the list, each under an id that was merged into theirs where there is one. */
export function listedMembers(ledger: Ledger, links: World['links']): CohortMember[] {
  const newest = new Map(links.toSorted((a, b) => a.version - b.version).map((link) => [link.person_id, link.target]));
  const former = new Map([...newest].map(([person, target]) => [target, person]));
  const persons = new Set(ledger.map(({ person }) => person).filter(isListed));
  return [...persons].map((person) => ({ kind: 'person', value: former.get(person) ?? person }));
}
