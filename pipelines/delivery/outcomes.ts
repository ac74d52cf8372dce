import type { Permit } from './breaker.ts';
import type { EntryOutcome, EventVerdict, Verdict } from './contract.ts';

export const skipped = (reason: string): EntryOutcome => ({
  outcome: 'skipped',
  reason,
  detail: '',
  tookMs: 0,
  retryAfterMs: null,
});

export const dead = (reason: string, detail: string): EntryOutcome => ({ ...skipped(reason), outcome: 'dead', detail });

/** An attempt that might be repeated, and will not be: what it took and what was answered stay as they were. */
export const givenUp = (attempt: EntryOutcome, reason: string): EntryOutcome => ({
  ...attempt,
  outcome: 'dead',
  reason,
  retryAfterMs: null,
});

export const diverted = (reason: string, detail: string): EntryOutcome => ({
  ...skipped(reason),
  outcome: 'diverted',
  detail,
});

export const paused = (reason: string, detail: string, retryAfterMs: number | null): EntryOutcome => ({
  outcome: 'paused',
  reason,
  detail,
  tookMs: 0,
  retryAfterMs,
});

/** Reason of a pause where the process was to stop before the event's turn came. */
const HANDED_OVER = 'handed_over';
/** Nothing was begun of the event: whoever has its partition next is to attempt it. */
export const handedOver = (): EntryOutcome => paused(HANDED_OVER, '', null);

export const isHandedOver = ({ outcome, reason }: EntryOutcome): boolean =>
  outcome === 'paused' && reason === HANDED_OVER;

/** Reason of a pause where the site's destination answers slowly, and the event waits for its turn. */
const SLOW = 'slow';

export const slowed = (): EntryOutcome => paused(SLOW, '', null);

export const isSlowed = ({ outcome, reason }: EntryOutcome): boolean => outcome === 'paused' && reason === SLOW;

/** Reasons: `breaker_open` and `throttled` heal by themselves; any other is what the platform said of the credentials. */
export function pausedByBreaker(permit: Extract<Permit, { kind: 'wait' }>): EntryOutcome {
  switch (permit.cause) {
    case 'failing':
      return paused('breaker_open', permit.reason, permit.waitMs);
    case 'throttled':
      return paused('throttled', permit.reason, permit.waitMs);
    case 'credentials_broken':
      return paused(permit.reason, '', permit.waitMs);
  }
}

/** Reason of a delivery of which the platform took only a part of the call's events, and does not say which. */
const TAKEN_IN_PART = 'taken_in_part';

/** Reason of an attempt that ended before the refused events of a batch were found. */
export const SPLIT_UNFINISHED = 'split_unfinished';

function outcomeOf(verdict: EventVerdict, tookMs: number): EntryOutcome {
  switch (verdict.kind) {
    case 'delivered':
      return { outcome: 'delivered', reason: '', detail: '', tookMs, retryAfterMs: null };
    case 'retry':
      return { outcome: 'diverted', reason: verdict.reason, detail: verdict.detail, tookMs, retryAfterMs: null };
    case 'throttle': {
      const { reason, detail, retryAfterMs } = verdict;
      return { outcome: 'diverted', reason, detail, tookMs, retryAfterMs };
    }
    case 'dead':
      return { outcome: 'dead', reason: verdict.reason, detail: verdict.detail, tookMs, retryAfterMs: null };
    case 'credentials_broken':
      return { outcome: 'paused', reason: verdict.reason, detail: verdict.detail, tookMs, retryAfterMs: null };
  }
}

/**
 * Outcomes of a batch that will not be split further. One event refused by itself is dead; several, where the calls for
 * finding the refused one are used up, go on in the next attempt as `split_unfinished`.
 */
export function settle(verdict: Verdict, count: number, tookMs: number): EntryOutcome[] {
  const each = (one: EventVerdict): EntryOutcome[] => Array<EntryOutcome>(count).fill(outcomeOf(one, tookMs));
  if (verdict.kind === 'per_event') {
    if (verdict.verdicts.length === count) return verdict.verdicts.map((one) => outcomeOf(one, tookMs));
    return each({ kind: 'retry', reason: 'answer_mismatch', detail: `${verdict.verdicts.length} for ${count}` });
  }
  if (verdict.kind === 'taken_in_part') {
    const { detail } = verdict;
    return Array<EntryOutcome>(count).fill({ ...skipped(TAKEN_IN_PART), outcome: 'delivered', detail, tookMs });
  }
  if (verdict.kind !== 'split') return each(verdict);
  const { reason, detail } = verdict;
  return each(count === 1 ? { kind: 'dead', reason, detail } : { kind: 'retry', reason: SPLIT_UNFINISHED, detail });
}
