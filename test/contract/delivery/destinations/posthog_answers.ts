import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

export const posthogAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('taken, in words', answered(200, { status: 'Ok' }), 'delivered'),
  means('taken, by number', answered(200, { status: 1 }), 'delivered'),
  means('over the quota', answered(200, { status: 'Ok', quota_limited: ['events'] }), {
    kind: 'throttle',
    reason: 'posthog_quota_limited',
    retryAfterMs: 3_600_000,
  }),
  means(
    'over the quota of something else',
    answered(200, { status: 'Ok', quota_limited: ['recordings'] }),
    'delivered',
  ),
  means('a key that is none', answered(401, { type: 'authentication_error' }), 'credentials_broken'),
  means('a payload that is not valid', answered(400, { type: 'validation_error', detail: 'x' }), 'split'),
  means('408', answered(408, ''), { kind: 'retry', reason: 'http_408' }),
];
