import { type GivenAnswer, nextQuestion } from './next_question.ts';
import type { Question, Survey } from './survey.ts';

/** An answer of a response, as it was sent. */
interface SentAnswer {
  question_id: string;
  value: GivenAnswer;
}

/**
 * The first required question on the visitor's way through the survey that has no answer, or null. Nothing but blanks is
 * none, nor is a link that was not followed, as in the browser; what a branch leaves out is not asked.
 */
export function missingAnswer({ questions }: Survey, answers: readonly SentAnswer[]): string | null {
  const given = new Map(answers.map(({ question_id, value }) => [question_id, givenOf(value)]));
  // No way leads back (branchingProblems), so that it ends.
  for (let question = questions[0]; question !== undefined; ) {
    const answer = given.get(question.id);
    if (question.required && answer === undefined) return question.id;
    question = questionAfter(questions, question, answer);
  }
  return null;
}

function questionAfter(
  questions: readonly Question[],
  question: Question,
  answer: GivenAnswer | undefined,
): Question | undefined {
  return questions[nextQuestion(questions, question, answer)];
}

function givenOf(value: GivenAnswer): GivenAnswer | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value !== 'object') return value === false ? undefined : value;
  const chosen = value.filter((one) => one.trim() !== '');
  return chosen.length === 0 ? undefined : chosen;
}
