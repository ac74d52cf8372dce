import { expect, test } from 'vitest';
import { liveStatement, timelineStatement } from '#pipelines/analytics/event_lists.ts';
import { type FunnelQuery, funnelPlan } from '#pipelines/analytics/funnels/query.ts';
import { topStatement } from '#pipelines/analytics/top.ts';

const HOUR_MS = 3_600_000;
const range = { from: 1_000, to: 2_000 };
const field = { column: 'country' } as const;
const funnel: FunnelQuery = { ...range, window_ms: 1, steps: [{ events: ['a'] }, { events: ['b'] }, {}] };

const LOOKED: [looked: string, part: Partial<FunnelQuery>][] = [
  ['selected', {}],
  ['selected', { order: 'any', breakdown: { field, at: 'first_step' } }],
  ['touches', { breakdown: { field, at: 'first_touch' } }],
  ['passing', { order: 'strict', breakdown: { field, at: 'last_touch' } }],
  ['all', { order: 'strict', count_by: 'session' }],
];

test.for(LOOKED)('a funnel looks at %s events: %j', ([looked, part]) => {
  expect(funnelPlan({ ...funnel, ...part }).looked).toBe(looked);
});

test('an exclusion lies between the steps it names, between all where it names none or they have no order', () => {
  const exclusions = [{ events: ['x'] }, { events: ['y'], after_step: 1, before_step: 2 }];
  const places = (order: FunnelQuery['order'] & string) =>
    funnelPlan({ ...funnel, exclusions, order }).exclusions.map(({ fromStep, beforeStep }) => [fromStep, beforeStep]);
  expect(places('ordered')).toEqual([
    [1, 3],
    [1, 2],
  ]);
  expect(places('any')).toEqual([
    [1, 4],
    [1, 4],
  ]);
});

test('a trend by the hour keeps every interval of its range', () => {
  const hours = (count: number) => funnelPlan({ ...funnel, from: 0, to: count * HOUR_MS, trend: { interval: 'hour' } });
  expect(hours(19_200).groupsMax).toBe(19_201);
  expect(hours(24).groupsMax).toBe(1_001);
});

test('what a question leaves open is decided as its shape says', () => {
  expect(topStatement('shop', { ...range, field })).toEqual(
    topStatement('shop', { ...range, field, filters: [], by: 'events', limit: 20 }),
  );
  expect(liveStatement('shop', {}, 2 * HOUR_MS)).toEqual(
    liveStatement('shop', { received_after: HOUR_MS, limit: 50 }, 0),
  );
  const person = { ...range, person_id: 'p' };
  expect(timelineStatement('shop', person)).toEqual(timelineStatement('shop', { ...person, filters: [], limit: 200 }));
  expect(funnelPlan(funnel)).toMatchObject({ order: 'ordered', countBy: 'person', breakdown: null, trend: null });
});
