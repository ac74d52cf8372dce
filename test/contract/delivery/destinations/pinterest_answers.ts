import type { Answer } from '#pipelines/delivery/contract.ts';
import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

const events = (...statuses: string[]): object => ({
  num_events_received: statuses.length,
  num_events_processed: 1,
  events: statuses.map((status) => ({ status, error_message: 'jane@example.com' })),
});
const failed = { kind: 'dead', reason: 'pinterest_event_failed', detail: '' } as const;
const delivered = { kind: 'delivered' } as const;
const said = (status: number, code: number): Answer => answered(status, { code, message: 'jane@example.com' });

export const pinterestAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means(
    'all processed',
    answered(200, events('processed', 'processed')),
    { kind: 'per_event', verdicts: [delivered, delivered] },
    2,
  ),
  means(
    'some failed',
    answered(200, events('processed', 'failed')),
    { kind: 'per_event', verdicts: [delivered, failed] },
    2,
  ),
  means(
    'some failed, with 422 and details',
    answered(422, { code: 1, message: 'x', details: events('failed', 'processed') }),
    { kind: 'per_event', verdicts: [failed, delivered] },
    2,
  ),
  means(
    'a list of another length',
    answered(200, events('processed', 'failed')),
    { kind: 'taken_in_part', taken: 1, detail: '1 of 3 processed' },
    3,
  ),
  means('a list of other words', answered(200, events('maybe')), 'retry'),
  means('422 without a list', said(422, 1), { kind: 'split', reason: 'pinterest_1' }),
  means('400', said(400, 1), { kind: 'split', reason: 'pinterest_1' }),
  means('401', said(401, 2), { kind: 'credentials_broken', reason: 'pinterest_2' }),
  means('403', said(403, 29), { kind: 'credentials_broken', reason: 'pinterest_29' }),
  means('404', said(404, 50), 'credentials_broken'),
  means('429 with the time of its reset', answered(429, { code: 8 }, { 'x-ratelimit-reset': '12' }), {
    kind: 'throttle',
    reason: 'pinterest_8',
    retryAfterMs: 12_000,
  }),
  means('200 without anything', answered(200, '{}'), 'retry'),
];
