import { classifyAnswer, safeWord } from '#pipelines/delivery/answers.ts';
import type { Answer, EventVerdict, Verdict } from '#pipelines/delivery/contract.ts';
import { isRecord } from '#pipelines/delivery/properties.ts';
import { credentialsBroken, DELIVERED, dead, retry, split, throttle } from '#pipelines/delivery/verdicts.ts';

const EVENT_FAILED = dead('pinterest_event_failed');

/** What became of each event, in the order sent; null where the answer does not say. */
function perEvent(body: unknown, count: number): EventVerdict[] | null {
  const inner = isRecord(body) && isRecord(body['details']) ? body['details'] : body;
  const events = isRecord(inner) ? inner['events'] : undefined;
  if (!Array.isArray(events) || events.length !== count) return null;
  const statuses = events.map((event: unknown) => (isRecord(event) ? event['status'] : undefined));
  if (!statuses.every((status) => status === 'processed' || status === 'failed')) return null;
  return statuses.map((status) => (status === 'processed' ? DELIVERED : EVENT_FAILED));
}

/** The wait until the limit counts anew, in seconds; Pinterest sends it in place of Retry-After. */
function resetMs(headers: Record<string, string>): number | null {
  const seconds = headers['x-ratelimit-reset']?.trim() ?? '';
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : null;
}

/**
 * Pinterest's answers: a verdict for each event, with status 200 when all were processed and 422 when some were not;
 * `{code, message}` for what is wrong with the request.
 */
export const classify = (answer: Answer, eventIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status, headers }, waitMs) => {
    const verdicts = status === 200 || status === 422 ? perEvent(body, eventIds.length) : null;
    if (verdicts !== null) return { kind: 'per_event', verdicts };
    const code = isRecord(body) ? safeWord(body['code']) : '';
    const reason = /^\d+$/.test(code) ? `pinterest_${code}` : `http_${status}`;
    if (status === 429) return throttle(reason, waitMs ?? resetMs(headers));
    if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
    if (status === 400 || status === 422) return split(reason);
    return status === 200 ? retry('unreadable_answer') : null;
  });
