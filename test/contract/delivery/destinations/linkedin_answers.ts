import type { Answer } from '#pipelines/delivery/contract.ts';
import { commonAnswers, means } from '#test/contract/delivery/answer_cases.ts';
import type { AnswerCase } from '#test/contract/delivery/subject.ts';
import { answered } from '#test/unit/delivery/harness.ts';

const elements = (...statuses: unknown[]): Answer =>
  answered(200, { elements: statuses.map((status) => ({ status, error: { message: 'jane@example.com' } })) });
const dead = (reason: string) => ({ kind: 'dead', reason, detail: '' }) as const;

/** Each answer that LinkedIn documents, and what it means. */
export const linkedinAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means(
    'a status for each',
    elements(201, 422, 503, 400),
    {
      kind: 'per_event',
      verdicts: [
        { kind: 'delivered' },
        dead('linkedin_event_422'),
        { kind: 'retry', reason: 'linkedin_event_delayed', detail: '' },
        { ...dead('linkedin_event_400'), isDoubtful: true },
      ],
    },
    4,
  ),
  means('a status that is none', elements('x'), {
    kind: 'per_event',
    verdicts: [{ kind: 'retry', reason: 'linkedin_event_delayed', detail: '' }],
  }),
  means('a status that has no text', elements({ toString: 1 }), {
    kind: 'per_event',
    verdicts: [{ kind: 'retry', reason: 'linkedin_event_delayed', detail: '' }],
  }),
  means('a list of another length', elements(201), { kind: 'taken_in_part', taken: 1, detail: '1 of 2 taken' }, 2),
  means('a list of another length that says of none', elements(503), { kind: 'retry', reason: 'unreadable_answer' }, 2),
  means('a status of the token', elements(401), {
    kind: 'per_event',
    verdicts: [{ kind: 'credentials_broken', reason: 'linkedin_event_401', detail: '' }],
  }),
  means('no list', answered(200, '{}'), { kind: 'retry', reason: 'unreadable_answer' }),
  means('a token that was revoked', answered(401, { status: 401, code: 'REVOKED_ACCESS_TOKEN' }), 'credentials_broken'),
];
