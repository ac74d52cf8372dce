import { expect, test } from 'vitest';
import { createRequestErrors, errorFacts, type RequestErrors } from '#infra/http/request_errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { startEdge } from './edge.ts';
import { post } from './foreign.ts';

const PLANTED = 'jane@shop.example';

/** A rejection that waits for somebody to take it. */
function rejected(message: string): Promise<never> {
  const promise = Promise.reject(new Error(message));
  promise.catch(() => undefined);
  return promise;
}

interface World {
  errors: RequestErrors;
  clock: { nowMs: number };
  fatal: unknown[];
  lines: object[];
  text(): Promise<string>;
}

function world(inARowMax = 10): World {
  const clock = { nowMs: 0 };
  const fatal: unknown[] = [];
  const lines: object[] = [];
  const metrics = createMetrics('edge');
  const errors = createRequestErrors({
    metrics,
    logger: { error: (facts: object) => lines.push(facts) } as unknown as Logger,
    nowMs: () => clock.nowMs,
    inARowMax,
    fatal: (error) => fatal.push(error),
  });
  return { errors, clock, fatal, lines, text: () => metrics.text() };
}

test('an error is counted by route and logged with its place, and nothing of its message', async () => {
  const { errors, lines, text } = world();
  const error = new TypeError(`cannot read ${PLANTED}\n    at ${PLANTED} (file:///a.ts:1:1)`);
  errors.record(Object.assign(error, { code: PLANTED, data: PLANTED }), '/v1/ingest');
  errors.record(PLANTED, undefined);
  expect(JSON.stringify(lines)).not.toContain(PLANTED);
  expect(lines).toMatchObject([
    { route: '/v1/ingest', error: 'TypeError', fingerprint: expect.stringMatching(/^[0-9a-f]{12}$/) },
    { route: 'none', error: 'string' },
  ]);
  expect(errorFacts(error).frames[0]).toMatch(/test\/unit\/edge\/request_errors\.test\.ts:\d+:\d+\)?$/);
  expect(await text()).toContain('svc_request_errors_total{route="/v1/ingest",stage="edge"} 1');
});

test('errors of one place have one fingerprint, whatever they say, and are logged now and then', () => {
  const { errors, lines, clock } = world();
  for (let times = 0; times < 400; times++) {
    clock.nowMs += 125;
    errors.record(new Error(`number ${times}`), '/v1/ingest');
  }
  expect(lines.length).toBeLessThan(6);
  expect(lines.at(-1)).toMatchObject({ again: 79 });
  expect(errorFacts(new Error('a')).fingerprint).not.toBe(errorFacts(new Error('a')).fingerprint);
});

test('only when nothing succeeds any more for a minute is the process at fault', () => {
  const { errors, clock, fatal } = world(100);
  const fail = (times: number, everyMs: number): void => {
    for (; times > 0; times--) {
      clock.nowMs += everyMs;
      errors.record(new Error('no'), '/v1/ingest');
    }
  };
  fail(1_000, 10);
  errors.succeeded();
  fail(1_000, 50);
  errors.succeeded();
  fail(100, 70_000);
  expect(fatal).toEqual([]);
  fail(300, 250);
  expect(fatal.length).toBeGreaterThan(0);
});

test('an error that nobody foresaw is 500 in the shape of each protocol, and the next request is served', async () => {
  const edge = await startEdge();
  for (const send of [
    () => postEvents(edge.url, edge.serverKey, [newEvent()]),
    () => post(edge, '/e/', JSON.stringify({ ...newEvent(), api_key: edge.browserKey })),
    () => post(edge, '/v1/track', JSON.stringify({ event: 'Seen', userId: 'u', writeKey: edge.serverKey })),
  ]) {
    edge.answers.push(rejected(PLANTED));
    const failed = await send();
    expect(failed).toMatchObject({ status: 500 });
    expect(JSON.stringify(failed.body)).toContain('internal');
    expect(JSON.stringify(failed.body)).not.toContain(PLANTED);
    expect(await send()).toMatchObject({ status: 200 });
  }
  expect(edge.unknown).toHaveLength(3);
  await edge.close();
});

test('a failed request leaves its events in doubt, and its neighbours alone', async () => {
  const doubted: unknown[] = [];
  const edge = await startEdge({ onDoubt: (reservation) => doubted.push(reservation) });
  edge.answers.push(rejected('no'));
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => postEvents(edge.url, edge.serverKey, [newEvent()])),
  );
  const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
  expect(statuses).toEqual([...Array<number>(9).fill(200), 500]);
  expect(doubted).toHaveLength(1);
  await edge.close();
});
