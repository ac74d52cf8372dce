import type { Answer, Verdict } from '#pipelines/delivery/contract.ts';
import {
  classifyAnswer,
  credentialsBroken,
  DELIVERED,
  doubtful,
  retry,
  safeWord,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { firstText, isRecord } from '#pipelines/events/vocabulary.ts';

interface Violation {
  field: string;
  reason: string;
}

const detailsOf = (error: Record<string, unknown>): Record<string, unknown>[] =>
  Array.isArray(error['details']) ? error['details'].filter(isRecord) : [];

function violationsOf(error: Record<string, unknown>): Violation[] {
  return detailsOf(error).flatMap((detail) => {
    const violations: unknown[] = Array.isArray(detail['fieldViolations']) ? detail['fieldViolations'] : [];
    return violations
      .filter(isRecord)
      .map((one) => ({ field: firstText(one, ['field']) ?? '', reason: safeWord(one['reason']) }));
  });
}

/** The wait of a RetryInfo, a duration such as `30s`. */
function retryDelayMs(error: Record<string, unknown>): number | null {
  const delays = detailsOf(error).map((detail) => /^(\d{1,6})(\.\d+)?s$/.exec(firstText(detail, ['retryDelay']) ?? ''));
  const seconds = delays.find((match) => match !== null)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

const placeOf = ({ field }: Violation): number | null => {
  const index = /\bevents\[(\d+)\]/.exec(field)?.[1];
  return index === undefined ? null : Number(index);
};

/** A request is refused as a whole: for its events, which are named, or for the account or conversion action it goes to. */
function classifyInvalid(error: Record<string, unknown>, reason: string): Verdict {
  const violations = violationsOf(error);
  const detail = violations[0]?.reason ?? '';
  const refusedIndexes = violations.map(placeOf).filter((place) => place !== null);
  const isOfDestination = violations.length > 0 && violations.every(({ field }) => /\bdestinations\b/.test(field));
  if (isOfDestination) return credentialsBroken('google_destination_invalid', detail);
  return refusedIndexes.length > 0 ? split(reason, detail, refusedIndexes) : doubtful(reason, detail);
}

function classifyError(error: Record<string, unknown>, status: number, waitMs: number | null): Verdict {
  const word = safeWord(error['status']).toLowerCase();
  const reason = `google_${word === '' ? status : word}`;
  if (status === 429) return throttle(reason, waitMs ?? retryDelayMs(error));
  if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
  return status === 400 ? classifyInvalid(error, reason) : retry(reason);
}

/**
 * Google's answers: a request id, or a google.rpc.Status as `error`. That a request was taken means that it passed the
 * first checks; Google matches its events later.
 */
export const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }, waitMs) => {
    if (isRecord(body) && isRecord(body['error'])) return classifyError(body['error'], status, waitMs);
    if (status !== 200) return null;
    return isRecord(body) && typeof body['requestId'] === 'string' ? DELIVERED : retry('unreadable_answer');
  });
