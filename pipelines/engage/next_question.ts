/** A branch of a question, as surveys are stored and as browsers are told them. */
interface Branch {
  is: 'equals' | 'in' | 'at_most' | 'at_least' | 'answered' | 'skipped';
  to: readonly (string | number)[];
  /** A question, or `end`. */
  go_to: string;
}

/** What of a question says which one comes after it. */
export interface Crossing {
  id: string;
  branches: readonly Branch[];
  /** A question, or `end`; empty: the one below. */
  next: string;
}

export type GivenAnswer = string | number | boolean | readonly string[];

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
