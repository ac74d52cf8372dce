import { expect, test } from 'vitest';
import type { ActorsAnswer, ActorsQuery } from '#pipelines/analytics/people/query.ts';
import { purchaseFunnel, START, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const DAY_MS = 86_400_000;

const viewed: ActorsQuery['of'] = { funnel: purchaseFunnel, step: 1, got: 'reached' };

test('a list goes on where its page ended, whatever arrives between them', async () => {
  const world = await create();
  const ids = Array.from({ length: 12 }, (_, at) => `early-${at}`);
  await world.store([ids.map((id) => storedRow(id, 'page_view', 0))]);
  const first = await world.ask<ActorsAnswer>('actors', { of: viewed, limit: 6 });
  const late = Array.from({ length: 12 }, (_, at) => `late-${at}`);
  await world.store([
    [...late.map((id) => storedRow(id, 'page_view', 0)), ...ids.map((id) => storedRow(id, 'scroll', 1))],
  ]);
  const then = await world.ask<ActorsAnswer>('actors', { of: viewed, limit: 1_000, after: first.next ?? '' });
  expect([first.total, then.total, then.next]).toEqual([12, 24, null]);
  const all = [...first.actors, ...then.actors].map(({ distinct_id }) => distinct_id);
  expect(new Set(all).size).toBe(all.length);
  expect(all).toEqual(expect.arrayContaining(ids));
  expect(first.actors[0]).toMatchObject({
    event: 'page_view',
    timestamp: START,
    person_id: expect.stringMatching(/^p_/),
  });
});

const { steps: _steps, window_ms: _window, ...range } = purchaseFunnel;
const trends = { ...range, interval: 'day', series: [{}] };
const country = { column: 'country' };
const byTwo = { ...trends, breakdown: { fields: [country, { property: ['plan'] }] } };
const byOne = { ...purchaseFunnel, breakdown: { field: country, at: 'first_step' } };
const recurring = { ...range, interval: 'day', mode: 'recurring', start: {}, back: {}, from: 0, to: 500 * DAY_MS };

const REFUSED = [
  [{ of: { funnel: purchaseFunnel, step: 3, got: 'reached' } }, 'of.step'],
  [{ of: { funnel: purchaseFunnel, step: 1, got: 'dropped' } }, 'of.step'],
  [{ of: { funnel: purchaseFunnel, step: 2, got: 'reached', value: 'x' } }, 'of.value'],
  [{ of: { funnel: { ...purchaseFunnel, to: 0 }, step: 2, got: 'reached' } }, 'of.funnel.to'],
  [{ of: { funnel: purchaseFunnel, step: 2, got: 'reached', interval_from: 0 } }, 'of.interval_from'],
  [{ of: { funnel: byOne, step: 2, got: 'reached', value: 'x', other: true } }, 'of.other'],
  [{ of: { trends, series: 2 } }, 'of.series'],
  [{ of: { trends, series: 1, parts: ['x'] } }, 'of.parts'],
  [{ of: { trends, series: 1, other: true } }, 'of.other'],
  [{ of: { trends, series: 1, before: true } }, 'of.before'],
  [{ of: { trends: byTwo, series: 1, parts: ['x'] } }, 'of.parts'],
  [{ of: { trends: byTwo, series: 1, parts: ['x', 'y'], other: true } }, 'of.other'],
  [{ of: { retention: recurring, cohort: 0 } }, 'of.retention.interval'],
  [{ of: { paths: { ...range, steps: 2 }, place: -1, way: ['a'] } }, 'of.place'],
  [{ of: { paths: { ...range, steps: 2 }, place: 1, way: ['a', 'b', null] } }, 'of.way'],
  [{ of: { paths: { ...range, through: 'a', starting_at: 'b' }, place: 0, way: ['a'] } }, 'of.paths.through'],
  [{ of: { paths: range, place: 0, way: [''] } }, 'of.way'],
  [{ of: { trends: { ...trends, time_zone: 'Mars/Base' }, series: 1 } }, 'of.trends.time_zone'],
  [{ of: { funnel: purchaseFunnel, step: 1, got: 'reached' }, after: '99999999999999999999.0' }, 'after'],
  [{ of: { funnel: purchaseFunnel, step: 1, got: 'reached' }, limit: 1_001 }, 'limit'],
] as const;

test('what is no part of a chart is refused by its field', async () => {
  const world = await create();
  for (const [body, field] of REFUSED) {
    const { status, body: answer } = await world.control.call('POST', '/v1/query/shop/actors', { body });
    expect([status, answer.problems.map((problem: { field: string }) => problem.field)]).toEqual([400, [field]]);
  }
});
