import type { Answer, Branch, Question } from './shown_item.ts';

/** Whether a branch is taken; of several answers one is enough. Undefined: the question was skipped. */
function holds({ is, to }: Branch, answer: Answer | undefined): boolean {
  if (is === 'answered' || is === 'skipped') return (answer !== undefined) === (is === 'answered');
  if (is === 'equals' || is === 'in') return [answer].flat().some((one) => to.includes(one as string | number));
  const [limit] = to;
  if (typeof answer !== 'number' || typeof limit !== 'number') return false;
  return is === 'at_most' ? answer <= limit : answer >= limit;
}

/** The place of the question that comes after one: that of its first branch that holds, else `next`. -1: none. */
export function nextQuestion(
  questions: readonly Question[],
  { branches, next }: Question,
  answer: Answer | undefined,
): number {
  const named = branches.find((branch) => holds(branch, answer))?.go_to ?? next;
  return questions.findIndex(({ id }) => id === named);
}

/** What was chosen and written as an answer; undefined: nothing. */
export function answerOf(
  { type, open_choice }: Question,
  chosen: readonly string[],
  written: string,
): Answer | undefined {
  const text = written.trim();
  if (type === 'open') return text || undefined;
  if (type === 'link') return chosen.length > 0 || undefined;
  if (type === 'rating') return chosen[0] === undefined ? undefined : Number(chosen[0]);
  // The visitor's own answer has no id.
  const answers = chosen.map((id) => id || (open_choice ? text : '')).filter((one) => one);
  if (type === 'single') return answers[0];
  return answers.length > 0 ? answers : undefined;
}

/** The steps of a rating, from the lowest. */
export const stepsOf = ({ scale }: Question): number[] =>
  Array.from({ length: scale }, (_, at) => (scale === 11 ? at : at + 1));
