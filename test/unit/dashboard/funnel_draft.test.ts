import { expect, test, vi } from 'vitest';
import { moved } from '#services/dashboard/src/format.ts';
import { funnelTable, readFunnel, withoutMisplaced } from '#services/dashboard/src/pages/funnels/funnel_view.tsx';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

test('an address that asks nothing asks for the usual funnel, and one that anybody wrote for what of it can be shown', () => {
  expect(readFunnel(undefined).steps.map(({ events }) => events)).toEqual([
    ['page_view'],
    ['add_to_cart'],
    ['purchase'],
  ]);
  for (const given of [null, 'x', [], { steps: 'x', window_ms: '1' }, { steps: [null, 7], order: {}, breakdown: 3 }]) {
    const { steps, window_ms } = readFunnel(given);
    expect(steps).toEqual([{}, {}]);
    expect(window_ms).toBe(30 * 86_400_000);
  }
});

test('a funnel goes through an address as it is', () => {
  const asked = {
    steps: [
      { events: ['a'] },
      { events: ['b', 'c'], optional: true },
      { filters: [{ field: { column: 'country' }, is: 'set' }] },
    ],
    window_ms: 5_000,
    order: 'strict',
    count_by: 'session',
    exclusions: [{ events: ['x'], after_step: 1, before_step: 3, ends: 'actor' }],
    breakdown: { field: { property: ['plan'] }, at: 'step', step: 2 },
  };
  expect(readFunnel(asked)).toEqual(asked);
});

test('a step keeps what belongs to it when it is moved', () => {
  const steps = [{ events: ['a'] }, { events: ['b'] }, { events: ['c'] }];
  expect(moved(steps, 0, 2).map(({ events }) => events?.[0])).toEqual(['b', 'c', 'a']);
  expect(moved(steps, 2, 0).map(({ events }) => events?.[0])).toEqual(['c', 'a', 'b']);
});

test('what has no place any more is taken away: optional ends, steps of exclusions that are gone', () => {
  const kept = withoutMisplaced({
    steps: [{ optional: true }, { optional: true }, { optional: true }],
    window_ms: 1,
    exclusions: [{ after_step: 4, before_step: 5 }],
    breakdown: { field: { column: 'country' }, at: 'step', step: 9 },
  });
  expect(kept.steps).toEqual([{}, { optional: true }, {}]);
  expect(kept.exclusions).toEqual([{ after_step: 2, before_step: 3 }]);
  expect(kept.breakdown?.step).toBe(3);
  const anyOrder = withoutMisplaced({ ...kept, order: 'any' });
  expect(anyOrder.steps).toEqual([{}, {}, {}]);
  expect(anyOrder.exclusions).toEqual([{}]);
});

test('a breakdown that does not say where its value is from is by the first touch', () => {
  const field = { property: ['utm_campaign'] };
  expect(readFunnel({ breakdown: { field } }).breakdown).toEqual({ field, at: 'first_touch' });
});

test('as a table each step is a row, of each value where there is a breakdown', () => {
  const step = (reached: number, share: number, median: number | null) => ({
    ...{ reached, of_first: share, of_previous: share, between_ms: null },
    time_ms: median === null ? null : { median, p90: median, average: median, least: 0, most: median },
  });
  const steps = [step(4, 1, 0), step(1, 0.25, 90_000)];
  const query = {
    ...{ from: 0, to: 1, window_ms: 1 },
    steps: [{ events: ['page_view'] }, { events: ['purchase', 'refund'] }],
    breakdown: { field: { column: 'geo_country' as const }, at: 'first_touch' as const },
  };
  const answer = {
    ...{ steps, time_to_convert: [], more_values: true, trend: [] },
    breakdown: [{ value: '', steps: [step(3, 1, 0), step(0, 0, null)] }],
    other: { values: 2_000, steps },
  };
  const { columns, rows } = funnelTable({ query, answer });
  expect(columns.slice(0, 3)).toEqual(['Country of the visitor', 'Step', 'Event']);
  expect(rows).toEqual([
    ['All', 1, 'page_view', 4, 1, 1, 0],
    ['All', 2, 'purchase or refund', 1, 0.25, 0.25, 90],
    ['(none)', 1, 'page_view', 3, 1, 1, 0],
    ['(none)', 2, 'purchase or refund', 0, 0, 0, null],
    ['2,000 other values', 1, 'page_view', 4, 1, 1, 0],
    ['2,000 other values', 2, 'purchase or refund', 1, 0.25, 0.25, 90],
  ]);
  const { breakdown: _field, ...whole } = query;
  expect(funnelTable({ query: whole, answer }).rows[1]).toEqual([2, 'purchase or refund', 1, 0.25, 0.25, 90]);
});
