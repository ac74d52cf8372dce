import { useEffect, useRef, useState } from 'preact/hooks';
import type { Failure } from '../api/api_answer.ts';
import { ask, type Questions } from '../api/questions.ts';
import { type Asked, useAnswer } from '../api/use_answer.ts';
import type { Period } from '../period.ts';
import { finished } from './condition_draft.ts';

/** An answer beside what was asked: lists of who is in a part of it are asked of the same time. */
export interface Answered<Name extends keyof Questions> {
  query: Questions[Name][0];
  answer: Questions[Name][1] & { as_of: number };
}

/** How long a question must stand before it is asked, so that not every letter is. */
const SETTLED_MS = 300;

/** Asks a question, which stands without its time, of a period. */
export function useQuestion<Name extends keyof Questions>(
  siteId: string,
  name: Name,
  draft: object,
  { from, to, lastDay }: Period,
): Asked<Answered<Name>> {
  const question = finished(draft);
  const key = useSettled(JSON.stringify([siteId, name, question, from, lastDay]));
  return useAnswer(key, async (signal) => {
    const query = { ...question, from, to } as unknown as Questions[Name][0];
    const answer = await ask(siteId, name, query, signal);
    return answer.ok ? { ...answer, value: { query, answer: answer.value } } : answer;
  });
}

/** A text as it was when it last stood still. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    timer.current = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer.current);
  }, [text]);
  return settled;
}

/** What a refusal says of a part of a question and what is in it, such as steps[0]; empty where it says nothing. */
export function problemsAt(failure: Failure | null, part: string): string {
  const about = failure?.problems.filter(
    ({ field }) => field === part || field.startsWith(`${part}.`) || field.startsWith(`${part}[`),
  );
  return (about ?? []).map(({ message }) => sentence(message)).join(' ');
}

const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
