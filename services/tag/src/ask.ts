import { ANSWER_MS_MAX } from './limits.ts';
import { isFinal, type Told } from './send_rules.ts';

/**
 * Asks the edge, as nobody in particular: without cookies, and without the path and query of the page. Rejects where there is
 * no answer within 30 s, and where the browser forbids to ask.
 */
export const ask = async (url: string, more?: RequestInit): Promise<Response> =>
  fetch(url, {
    credentials: 'omit',
    referrerPolicy: 'strict-origin',
    // An old browser waits as long as it likes.
    signal: AbortSignal.timeout?.(ANSWER_MS_MAX) as AbortSignal,
    ...more,
  });

/** What came of a request. */
export interface Outcome<Answer> {
  /** Undefined where nothing was answered. */
  answer_?: Response | undefined;
  /** What the edge answered for good; undefined where somebody else did, or nobody: then it is to be asked again. */
  told_?: (Answer & Told) | undefined;
}

/** Asks the edge, whose answers have that member where it does not refuse. */
export const askFor = async <Answer>(member: string, url: string, more?: RequestInit): Promise<Outcome<Answer>> => {
  const answer_ = await ask(url, more).catch(() => undefined);
  const told = (await answer_?.json().catch(() => undefined)) as (Answer & Told) | undefined;
  return { answer_, told_: isFinal(answer_?.status, told, member) ? told : undefined };
};
