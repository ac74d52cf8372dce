import { afterAll, beforeAll, expect, test } from 'vitest';
import { cases, testSeed } from '#test/harness/environment.ts';
import { runHostile } from '#test/harness/hostile/run.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.close());

const COUNT = cases(500);

test('hostile requests get documented answers and nothing breaks', { timeout: 120_000 }, async () => {
  const run = await runHostile(edge.url, edge, { seed: testSeed(), count: COUNT });
  expect(run.surprises).toEqual([]);
  expect(edge.unknown).toEqual([]);
  expect(run.statuses['503']).toBeUndefined();
  expect(run.statuses['200']).toBeGreaterThan(COUNT / 20);
  expect(await postEvents(edge.url, edge.serverKey, [newEvent()])).toMatchObject({ status: 200 });
  expect([edge.limiter.requests, edge.limiter.bytes]).toEqual([0, 0]);
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});
