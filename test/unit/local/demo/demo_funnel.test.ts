import { describe, expect, it } from 'vitest';
import { countSteps, FUNNEL_WINDOW_MS, stepsReached } from '#services/local/demo/world/demo_world.ts';

const CASES: { title: string; deeds: [name: string, at: number][]; steps: number }[] = [
  { title: 'nothing', deeds: [], steps: 0 },
  { title: 'a purchase alone', deeds: [['purchase', 5]], steps: 0 },
  { title: 'a page', deeds: [['page_view', 5]], steps: 1 },
  {
    title: 'steps given out of order of time',
    deeds: [
      ['view_item', 2],
      ['page_view', 1],
    ],
    steps: 2,
  },
  {
    title: 'steps that happened in the wrong order',
    deeds: [
      ['page_view', 2],
      ['view_item', 1],
    ],
    steps: 1,
  },
  {
    title: 'a step left out',
    deeds: [
      ['page_view', 1],
      ['add_to_cart', 2],
    ],
    steps: 1,
  },
  {
    title: 'other events between',
    deeds: [
      ['page_view', 1],
      ['search', 2],
      ['view_item', 3],
    ],
    steps: 2,
  },
  {
    title: 'the same instant',
    deeds: [
      ['view_item', 1],
      ['page_view', 1],
    ],
    steps: 2,
  },
  {
    title: 'the end of the window',
    deeds: [
      ['page_view', 0],
      ['view_item', FUNNEL_WINDOW_MS],
    ],
    steps: 2,
  },
  {
    title: 'one past the window',
    deeds: [
      ['page_view', 0],
      ['view_item', FUNNEL_WINDOW_MS + 1],
    ],
    steps: 1,
  },
  {
    title: 'a later start that keeps the window open',
    deeds: [
      ['page_view', 0],
      ['page_view', 10],
      ['view_item', FUNNEL_WINDOW_MS + 5],
    ],
    steps: 2,
  },
  {
    title: 'all five',
    deeds: [
      ['page_view', 1],
      ['view_item', 2],
      ['add_to_cart', 3],
      ['begin_checkout', 4],
      ['purchase', 5],
    ],
    steps: 5,
  },
];

describe('stepsReached', () => {
  it.each(CASES)('counts $steps for $title', ({ deeds, steps }) => {
    expect(stepsReached(deeds.map(([name, at]) => ({ name, at })))).toBe(steps);
  });
});

describe('countSteps', () => {
  it('counts who reached at least each step', () => {
    expect(countSteps([0, 1, 1, 3, 5])).toEqual([4, 2, 2, 1, 1]);
  });
});
