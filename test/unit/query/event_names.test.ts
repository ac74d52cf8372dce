import { expect, test } from 'vitest';
import { SAME_EVENTS, withEveryName } from '#pipelines/analytics/event_names.ts';

test('no name belongs to two things, and none needs escaping', () => {
  const names = SAME_EVENTS.flat();
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[$\w ]+$/.test(name))).toEqual([]);
});

test('an event stands for every name of the same thing, wherever a query names it', () => {
  const names = ['page_view', '$pageview', 'page', 'Page Viewed'];
  const steps = [{ events: ['$pageview'] }, { events: ['own', 'page_view', 'page'] }, {}];
  expect(withEveryName({ steps, exclusions: [{ events: ['own'], after_step: 1 }], window_ms: 5 })).toEqual({
    steps: [{ events: names }, { events: ['own', ...names] }, {}],
    exclusions: [{ events: ['own'], after_step: 1 }],
    window_ms: 5,
  });
  expect(withEveryName({ start: { events: ['page'] }, back: {}, events: ['own'] })).toEqual({
    start: { events: names },
    back: {},
    events: ['own'],
  });
});

test('a filter on the column compares with the name that is shown', () => {
  const filter = (column: string) => ({ field: { column }, is: 'equal', to: ['$pageview', 5] });
  expect(withEveryName({ filters: [filter('event'), filter('country')] })).toEqual({
    filters: [{ ...filter('event'), to: ['page_view', 5] }, filter('country')],
  });
  const ofPerson = { ...filter('event'), field: { person: { column: 'event' }, seen: 'first' } };
  expect(withEveryName({ series: [{ filters: [{ any: [{ all: [ofPerson] }] }] }] })).toEqual({
    series: [{ filters: [{ any: [{ all: [{ ...ofPerson, to: ['page_view', 5] }] }] }] }],
  });
});
