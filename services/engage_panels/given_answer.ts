import type { Answer, Question } from './shown_item.ts';

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
export const stepsOf = ({ scale }: Pick<Question, 'scale'>): number[] =>
  Array.from({ length: scale }, (_, at) => (scale === 11 ? at : at + 1));
