import type { Health } from './breaker.ts';
import type { Answer, EventVerdict, Verdict } from './contract.ts';

export const DELIVERED: EventVerdict = { kind: 'delivered' };

export const retry = (reason: string, detail = ''): EventVerdict => ({ kind: 'retry', reason, detail });
export const dead = (reason: string, detail = ''): EventVerdict => ({ kind: 'dead', reason, detail });
export const credentialsBroken = (reason: string, detail = ''): EventVerdict => ({
  kind: 'credentials_broken',
  reason,
  detail,
});
/** @param refusedIndexes places of the events that the platform named, from 0. */
export const split = (reason: string, detail = '', refusedIndexes: readonly number[] = []): Verdict => ({
  kind: 'split',
  reason,
  detail,
  ...(refusedIndexes.length === 0 ? {} : { refusedIndexes }),
});
/** A refusal in words that may be about an event in the request or about the destination. */
export const doubtful = (reason: string, detail = ''): Verdict => ({ kind: 'split', reason, detail, isDoubtful: true });

/**
 * What a count of the events taken says: all, none, or some that are not told apart. None taken is a refusal like any
 * other, under `reason`.
 */
export function takenOf(taken: number, sent: number, reason: string, detail = ''): Verdict {
  if (taken >= sent) return DELIVERED;
  if (taken <= 0) return doubtful(reason, detail);
  return { kind: 'taken_in_part', taken, detail };
}

export const throttle = (reason: string, retryAfterMs: number | null, detail = ''): EventVerdict => ({
  kind: 'throttle',
  reason,
  detail,
  retryAfterMs,
});

/**
 * What a Retry-After header asks for, in milliseconds; null when there is none that can be read. RFC 9110 allows seconds
 * or a date; a date is read against the answer's own Date header, so that our clock does not matter.
 */
export function retryAfterMs(headers: Record<string, string>): number | null {
  const value = headers['retry-after']?.trim();
  if (value === undefined || value === '') return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const waitMs = Date.parse(value) - Date.parse(headers['date'] ?? '');
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}

/** Whether an answer is a web page: a proxy or an error page stands where the platform should. */
export function isHtml(answer: Extract<Answer, { kind: 'answered' }>): boolean {
  return (answer.headers['content-type'] ?? '').includes('text/html') || /^\s*<(!doctype|html)/i.test(answer.body);
}

function healthOfEvents(verdicts: readonly EventVerdict[]): Health {
  const healths = verdicts.map(healthOf);
  const broken = healths.find((health) => health.kind === 'credentials_broken');
  const throttled = healths.find((health) => health.kind === 'throttled');
  const well = healths.find((health) => health.kind === 'well');
  return broken ?? throttled ?? well ?? healths[0] ?? { kind: 'well' };
}

/** What an answer shows of the platform's health; a judgement of events, good or bad, shows that it works. */
export function healthOf(verdict: Verdict): Health {
  switch (verdict.kind) {
    case 'delivered':
    case 'taken_in_part':
      return { kind: 'well' };
    case 'dead':
    case 'split':
      return verdict.isDoubtful === true ? { kind: 'doubtful' } : { kind: 'well' };
    case 'retry':
      return { kind: 'failing', reason: verdict.reason };
    case 'throttle':
      return { kind: 'throttled', reason: verdict.reason, retryAfterMs: verdict.retryAfterMs };
    case 'credentials_broken':
      return { kind: 'credentials_broken', reason: verdict.reason };
    case 'per_event':
      return healthOfEvents(verdict.verdicts);
  }
}
