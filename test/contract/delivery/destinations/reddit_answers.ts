import type { Answer } from '#pipelines/delivery/contract.ts';
import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

const dead = { kind: 'dead', reason: 'reddit_invalid_event', detail: '' } as const;
const leftOut = (...ids: string[]): Answer =>
  answered(200, {
    data: {
      message: 'Processed.',
      invalid_events: ids.map((conversion_id) => ({ error_message: 'jane', event: { metadata: { conversion_id } } })),
    },
  });
const refused = (...fields: string[]): Answer =>
  answered(400, { error: { code: 400, message: 'jane', fields: fields.map((field) => ({ field, message: 'jane' })) } });

export const redditAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('taken', answered(200, { data: { message: 'Processed.' } }), 'delivered'),
  means(
    'an event left out of those taken',
    leftOut('event_1'),
    { kind: 'per_event', verdicts: [{ kind: 'delivered' }, dead] },
    2,
  ),
  // Nothing else says that the other one was left out too.
  means('events left out, of which one is not known', leftOut('event_1', 'another'), { kind: 'split' }, 2),
  means('events left out that cannot be told', leftOut('other'), { kind: 'split', reason: 'reddit_invalid_event' }, 2),
  means('events that are named', refused('data.events[1].type', 'data.events[2].event_at'), {
    kind: 'split',
    reason: 'reddit_400',
    refusedIndexes: [1, 2],
  }),
  means('a refusal that names none', refused('data'), { kind: 'split', reason: 'reddit_400', isDoubtful: true }),
  means('a refusal whose field has no text', answered(400, { error: { fields: [{ field: { toString: 1 } }] } }), {
    ...{ kind: 'split', reason: 'reddit_400', isDoubtful: true },
  }),
  means('401', answered(401, { error: { code: 401 } }), 'credentials_broken'),
  means('429 with the time of its reset', answered(429, '', { 'x-ratelimit-reset': '3.2' }), {
    kind: 'throttle',
    retryAfterMs: 4_000,
  }),
  means('200 without data', answered(200, '{}'), { kind: 'retry', reason: 'unreadable_answer' }),
];
