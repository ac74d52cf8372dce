import { expect, test } from 'vitest';
import { type FunnelQuery, funnelProblems } from '#pipelines/analytics/funnels/query.ts';

const field = { column: 'country' } as const;
const [one, two, three] = [{ events: ['a'] }, { events: ['b'] }, { events: ['c'] }];
const funnel: FunnelQuery = { from: 1_000, to: 2_000, window_ms: 1, steps: [one, two, three] };
const left = { ...two, optional: true };

const REFUSED: [field: string, part: Partial<FunnelQuery>][] = [
  ['steps[0].optional', { steps: [{ ...one, optional: true }, two] }],
  ['steps[2].optional', { steps: [one, two, { ...three, optional: true }] }],
  ['steps[1].optional', { steps: [one, left, three], order: 'any' }],
  ['breakdown.step', { breakdown: { field, at: 'step' } }],
  ['breakdown.step', { breakdown: { field, at: 'step', step: 4 } }],
  ['breakdown.step', { breakdown: { field, at: 'first_step', step: 1 } }],
  ['breakdown.lookback_ms', { breakdown: { field, at: 'step', step: 1, lookback_ms: 1 } }],
];

test.for(REFUSED)('a funnel is refused for %s: %j', ([path, part]) => {
  expect(funnelProblems({ ...funnel, ...part }).map((problem) => problem.field)).toEqual([path]);
});

test('an optional step in the middle and the value at a step are taken', () => {
  const breakdown = { field, at: 'step', step: 3 } as const;
  expect(funnelProblems({ ...funnel, steps: [one, left, three], breakdown })).toEqual([]);
});
