import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

const invalid = (...record_indexes: number[]): object => ({
  status: 'INVALID',
  reason: 'jane@example.com',
  error_records: [{ reason: 'x', record_indexes }],
});

export const snapchatAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('VALID', answered(200, { status: 'VALID' }), 'delivered'),
  means('SUCCESS', answered(200, { status: 'SUCCESS', reason: 'All records processed' }), 'delivered'),
  means('records that are named', answered(400, invalid(0, 2)), {
    kind: 'split',
    reason: 'snapchat_invalid',
    detail: 'status 400',
    refusedIndexes: [0, 2],
  }),
  means('INVALID with 200', answered(200, invalid(1)), { kind: 'split', refusedIndexes: [1] }),
  means('FAILED without records', answered(400, { status: 'FAILED' }), {
    ...{ kind: 'split', reason: 'snapchat_invalid' },
    isDoubtful: true,
  }),
  means('INVALID with 401', answered(401, { status: 'INVALID' }), 'credentials_broken'),
  means('INVALID with 500', answered(500, { status: 'INVALID' }), 'retry'),
  means('200 without a word', answered(200, '{}'), { kind: 'retry', reason: 'unreadable_answer' }),
];
