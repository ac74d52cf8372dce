import type { Answer } from '#pipelines/delivery/contract.ts';
import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

const said = (code: number, data: object = {}): Answer =>
  answered(200, { code, message: 'jane@example.com is wrong', request_id: 'R1', data });
const failed = (...places: unknown[]): Answer =>
  said(20_001, { failed_events: places.map((order_in_batch) => ({ order_in_batch, error_msg: 'x' })) });
const dead = { kind: 'dead', reason: 'tiktok_20001', detail: 'request_id R1' } as const;

export const tiktokAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('code 0', said(0), 'delivered'),
  means(
    'a partial success names the events that failed',
    failed(1),
    { kind: 'per_event', verdicts: [{ kind: 'delivered' }, dead, { kind: 'delivered' }] },
    3,
  ),
  means('a partial success that names none', said(20_001), { kind: 'split', reason: 'tiktok_20001' }, 3),
  means('a partial success that names what was not sent', failed(7), 'split', 3),
  means('a partial success that cannot be read', failed('one'), 'split', 3),
  means('code 40100', said(40_100), { kind: 'throttle', reason: 'tiktok_40100', retryAfterMs: null }),
  means('code 40001', said(40_001), { kind: 'credentials_broken', reason: 'tiktok_40001', detail: 'request_id R1' }),
  means('code 40102', said(40_102), 'credentials_broken'),
  means('code 40104', said(40_104), 'credentials_broken'),
  means('code 40105', said(40_105), 'credentials_broken'),
  means('code 40007', said(40_007), 'credentials_broken'),
  means('code 40002', said(40_002), {
    ...{ kind: 'split', reason: 'tiktok_40002', detail: 'request_id R1' },
    isDoubtful: true,
  }),
  means('code 50000', said(50_000), { kind: 'retry', reason: 'tiktok_50000' }),
  means('code 51305', said(51_305), 'retry'),
  means('200 without a code', answered(200, '{}'), { kind: 'retry', reason: 'unreadable_answer' }),
];
