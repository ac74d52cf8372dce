const DAY_MS = 86_400_000;

/** Clocks and the end of a claim's period. */
const MARGIN_MS = 3_600_000;

/**
 * Whether an event may have been stored before under a claim that is forgotten by now. Of two with one id on one day the first
 * arrived a day before it happened at the earliest, as a time further ahead is replaced, and the second may be a day earlier
 * by its own time. So one that arrives two days less than the claim's time after it happened is within the claim.
 */
export function isLate(event: { timestamp: number; received_at: number }, claimWindowMs: number): boolean {
  return event.received_at - event.timestamp >= claimWindowMs - 2 * DAY_MS - MARGIN_MS;
}
