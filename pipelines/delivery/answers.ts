import type { Answer, Verdict } from './contract.ts';
import { credentialsBroken, DELIVERED, doubtful, isHtml, retry, retryAfterMs, split, throttle } from './verdicts.ts';

export type Answered = Extract<Answer, { kind: 'answered' }>;

/** The value of a JSON text; null when it is none. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What a status says where a platform's own words say nothing. */
function classifyStatus(status: number, waitMs: number | null): Verdict {
  const reason = `http_${status}`;
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status === 429) return throttle(reason, waitMs);
  if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
  if (status === 413) return split(reason);
  return status === 400 || status === 422 ? doubtful(reason) : retry(reason);
}

/**
 * Reads an answer as all platforms' are: no answer is to be repeated, and so is a web page, as a proxy stands where the
 * platform should. The rest is the platform's own to read; what it leaves, by null, is judged by status.
 *
 * @param read the platform's reading of the body's JSON, null when it is none, and of the wait it asks for.
 */
export function classifyAnswer(
  answer: Answer,
  read: (body: unknown, answer: Answered, waitMs: number | null) => Verdict | null,
): Verdict {
  if (answer.kind === 'no_answer') {
    return answer.reason === 'address_refused' ? credentialsBroken('address_refused') : retry(answer.reason);
  }
  if (isHtml(answer)) return retry('html_answer', `status ${answer.status}`);
  const waitMs = retryAfterMs(answer.headers);
  return read(readJson(answer.body), answer, waitMs) ?? classifyStatus(answer.status, waitMs);
}

/** A word of a platform's (an error code, a status) that may stand in a reason or detail; '' for anything else. */
export const safeWord = (value: unknown): string =>
  (typeof value === 'string' || typeof value === 'number') && /^[\w.-]{1,64}$/.test(String(value)) ? String(value) : '';
