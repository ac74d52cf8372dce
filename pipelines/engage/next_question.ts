// Which question comes next, and which answer is missing.
import type { Question, Survey } from './survey.ts';

type Branch = Question['branches'][number];
/** What of a question says which one comes after it. */
type Crossing = Pick<Question, 'id' | 'branches' | 'next'>;

type GivenAnswer = string | number | boolean | readonly string[];

/** Whether a branch is taken; of several answers one is enough. Undefined: the question was skipped. */
function holds({ is, to }: Branch, answer: GivenAnswer | undefined): boolean {
  if (is === 'answered' || is === 'skipped') return (answer !== undefined) === (is === 'answered');
  if (is === 'equals' || is === 'in') return [answer].flat().some((one) => to.includes(one as string | number));
  const [limit] = to;
  const areNumbers = typeof answer === 'number' && typeof limit === 'number';
  return areNumbers && (is === 'at_most' ? answer <= limit : answer >= limit);
}

/** The place of the question that comes after one: that of its first branch that holds, else `next`. -1: none. */
export function nextQuestion(
  questions: readonly Crossing[],
  question: Crossing,
  answer: GivenAnswer | undefined,
): number {
  const named = question.branches.find((branch) => holds(branch, answer))?.go_to ?? question.next;
  const at = named ? questions.findIndex(({ id }) => id === named) : questions.indexOf(question) + 1;
  return at < questions.length ? at : -1;
}

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
  for (let question: Question | undefined = questions[0]; question !== undefined; ) {
    const answer: GivenAnswer | undefined = given.get(question.id);
    if (question.required && answer === undefined) return question.id;
    question = questions[nextQuestion(questions, question, answer)];
  }
  return null;
}

function givenOf(value: GivenAnswer): GivenAnswer | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value !== 'object') return value === false ? undefined : value;
  const chosen = value.filter((one) => one.trim() !== '');
  return chosen.length === 0 ? undefined : chosen;
}
