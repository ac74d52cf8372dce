import type { Answer } from '#pipelines/delivery/contract.ts';
import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

const rpc = (code: number, status: string, details: object[] = []): Answer =>
  answered(code, { error: { code, message: 'jane@example.com', status, details } });
const invalid = (...fields: string[]): Answer =>
  rpc(400, 'INVALID_ARGUMENT', [
    {
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: fields.map((field) => ({ field, description: 'jane', reason: 'INVALID_HEX' })),
    },
  ]);

export const googleAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('a request id', answered(200, { requestId: 'r-1' }), 'delivered'),
  means('200 without one', answered(200, '{}'), { kind: 'retry', reason: 'unreadable_answer' }),
  means('events that are named', invalid('events.events[1].user_data', 'events.events[3].transaction_id'), {
    kind: 'split',
    reason: 'google_invalid_argument',
    detail: 'INVALID_HEX',
    refusedIndexes: [1, 3],
  }),
  means('a refusal that names no event', invalid('encoding'), {
    ...{ kind: 'split', reason: 'google_invalid_argument' },
    isDoubtful: true,
  }),
  means('a conversion action or account that is none', invalid('destinations[0].product_destination_id'), {
    kind: 'credentials_broken',
    reason: 'google_destination_invalid',
  }),
  means('401', rpc(401, 'UNAUTHENTICATED'), { kind: 'credentials_broken', reason: 'google_unauthenticated' }),
  means('403', rpc(403, 'PERMISSION_DENIED'), { kind: 'credentials_broken', reason: 'google_permission_denied' }),
  means(
    '429 with a delay',
    rpc(429, 'RESOURCE_EXHAUSTED', [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '30s' }]),
    { kind: 'throttle', reason: 'google_resource_exhausted', retryAfterMs: 30_000 },
  ),
  means('429 without', rpc(429, 'RESOURCE_EXHAUSTED'), { kind: 'throttle', retryAfterMs: null }),
  means('500', rpc(500, 'INTERNAL'), { kind: 'retry', reason: 'google_internal' }),
  means('503', rpc(503, 'UNAVAILABLE'), { kind: 'retry', reason: 'google_unavailable' }),
  means('504', rpc(504, 'DEADLINE_EXCEEDED'), 'retry'),
];
