import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

/** GA4 says nothing of events: what was answered 2xx is never sent again. */
export const ga4Answers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('204', answered(204, ''), 'delivered'),
  means('200 with whatever body', answered(200, 'GIF89a'), 'delivered'),
  means('202', answered(202, ''), 'delivered'),
];
