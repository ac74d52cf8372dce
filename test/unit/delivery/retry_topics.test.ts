import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  nextRetry,
  pausedTopic,
  probeTopic,
  RETRY_AGE_MAX_MS,
  RETRY_DELAYS,
  type RetryRequest,
  slowRetry,
  topicsOf,
} from '#pipelines/delivery/retry_topics.ts';

const HOUR_MS = 3_600_000;
const question = (changes: Partial<RetryRequest> = {}): RetryRequest => ({
  attempt: 1,
  firstAttemptedAtMs: 0,
  nowMs: 0,
  retryAfterMs: null,
  deadlineMs: null,
  random: 0,
  ...changes,
});

describe('an event that waits for a slow site', () => {
  it('is not dead of a time in which nothing was tried', () => {
    const nowMs = RETRY_AGE_MAX_MS + HOUR_MS;
    expect(slowRetry(question({ nowMs }))).toEqual({ kind: 'retry', retryTopic: 'slow', dueAtMs: nowMs });
    expect(slowRetry(question({ nowMs, deadlineMs: nowMs }))).toEqual({ kind: 'dead', reason: 'too_old' });
  });
});

describe('the lane of an attempt', () => {
  it.each([
    [1, '5s', 5_000],
    [2, '1m', 60_000],
    [3, '10m', 600_000],
    [4, '1h', HOUR_MS],
    [5, '6h', 6 * HOUR_MS],
    [6, '6h', 6 * HOUR_MS],
    [40, '6h', 6 * HOUR_MS],
  ])('after attempt %i is %s', (attempt, retryTopic, dueAtMs) =>
    expect(nextRetry(question({ attempt }))).toEqual({ kind: 'retry', retryTopic, dueAtMs }),
  );

  it.each([
    ['shorter than the lane', 2_000, '5s', 5_000],
    ['between two lanes', 30_000, '5s', 30_000],
    ['as long as a lane', 60_000, '1m', 60_000],
    ['longer than a lane', 2 * HOUR_MS, '1h', 2 * HOUR_MS],
    ['as long as the longest', 6 * HOUR_MS, '6h', 6 * HOUR_MS],
    ['longer than all for as long as a breaker waits', 20 * HOUR_MS, '6h', 6 * HOUR_MS],
    ['of a week', 7 * 24 * HOUR_MS, '6h', 6 * HOUR_MS],
  ])('heeds a Retry-After %s', (_, retryAfterMs, retryTopic, dueAtMs) =>
    expect(nextRetry(question({ retryAfterMs }))).toEqual({ kind: 'retry', retryTopic, dueAtMs }),
  );

  it('never takes an attempt back to a shorter lane for a short Retry-After', () => {
    expect(nextRetry(question({ attempt: 4, retryAfterMs: 1_000 }))).toMatchObject({
      retryTopic: '1h',
      dueAtMs: HOUR_MS,
    });
  });
});

describe('the lane of an event of which nothing was asked', () => {
  it.each([
    ['at first', 0, null, '10m'],
    ['at first, with a long wait', 0, 2 * HOUR_MS, '1h'],
    ['after fifty minutes', 3_000_000, 5_000, '10m'],
    ['after an hour', HOUR_MS, 300_000, '1h'],
    ['after a day', 24 * HOUR_MS, 300_000, '6h'],
  ])('%s is long', (_, nowMs, retryAfterMs, retryTopic) =>
    expect(pausedTopic(question({ nowMs, retryAfterMs }))).toMatchObject({ kind: 'retry', retryTopic }),
  );

  it.each([
    ['its age allows', { nowMs: 60 * HOUR_MS, firstAttemptedAtMs: 50 * HOUR_MS, deadlineMs: 62 * HOUR_MS }, '1h'],
    ['72 hours allow', { nowMs: 71.5 * HOUR_MS }, '10m'],
    ['either allows', { nowMs: 71 * HOUR_MS, deadlineMs: 71 * HOUR_MS + 30_000 }, '5s'],
  ] as const)('is no longer than %s', (_, changes, retryTopic) =>
    expect(pausedTopic(question(changes))).toMatchObject({ kind: 'retry', retryTopic }),
  );

  it('is none where the shortest is too long', () => {
    expect(pausedTopic(question({ deadlineMs: 5_000 }))).toEqual({ kind: 'dead', reason: 'too_old' });
    const nowMs = RETRY_AGE_MAX_MS - 4_000;
    expect(pausedTopic(question({ nowMs }))).toEqual({ kind: 'dead', reason: 'retries_exhausted' });
  });

  it.each([
    [null, '5s'],
    [59_000, '5s'],
    [300_000, '1m'],
    [600_000, '10m'],
  ] as const)('brings the one that probes for a wait of %s ms in time: %s', (retryAfterMs, retryTopic) =>
    expect(probeTopic(question({ retryAfterMs }))).toMatchObject({ kind: 'retry', retryTopic }),
  );
});

describe('an event that has waited long enough', () => {
  it('is dead when 72 hours would have passed', () => {
    const nowMs = RETRY_AGE_MAX_MS - 6 * HOUR_MS;
    expect(nextRetry(question({ attempt: 9, nowMs })).kind).toBe('retry');
    expect(nextRetry(question({ attempt: 9, nowMs: nowMs + 1 }))).toEqual({
      kind: 'dead',
      reason: 'retries_exhausted',
    });
  });

  it("is dead when the platform's window would be closed", () => {
    expect(nextRetry(question({ deadlineMs: 5_001 })).kind).toBe('retry');
    expect(nextRetry(question({ deadlineMs: 5_000 }))).toEqual({ kind: 'dead', reason: 'too_old' });
  });
});

it('delays by at least the lane and the wish, and at most a fifth more', () => {
  const questions = fc.record({
    attempt: fc.integer({ min: 1, max: 20 }),
    firstAttemptedAtMs: fc.constant(1_000),
    nowMs: fc.constant(1_000),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 400 * HOUR_MS })),
    deadlineMs: fc.constant(null),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(questions, (asked) => {
      const choice = nextRetry(asked);
      if (choice.kind === 'dead') return false;
      const byAttempt = RETRY_DELAYS[Math.min(asked.attempt, 5) - 1]?.delayMs ?? 0;
      const leastMs = Math.max(byAttempt, Math.min(asked.retryAfterMs ?? 0, 6 * HOUR_MS));
      const waitMs = choice.dueAtMs - asked.nowMs;
      return waitMs >= leastMs && waitMs <= Math.ceil(leastMs * 1.2);
    }),
  );
});

it('names the topics of a destination', () => {
  expect(topicsOf('meta')).toEqual([
    'delivery.meta.retry.5s',
    'delivery.meta.retry.1m',
    'delivery.meta.retry.10m',
    'delivery.meta.retry.1h',
    'delivery.meta.retry.6h',
    'delivery.meta.retry.slow',
    'delivery.meta.replay',
  ]);
});
