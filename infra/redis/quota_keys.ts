/** A month's counter outlives the month long enough for late settlement. */
export const MONTH_TTL_S = 70 * 86_400;

/** Key of an account's month; its hash tag keeps what one script needs on one node. */
export function quotaKey(accountId: string, month: string): string {
  return `q:{${accountId}}:${month}`;
}

/** When each lease is over; and up to where each partition of events.raw is settled. They meet in one script. */
export const LEASES_KEY = 'q:{edges}leases';
export const CHECKPOINTS_KEY = 'q:{edges}checkpoints';
/** The generation of each partition's counters. */
export const GENERATIONS_KEY = 'q:{edges}generations';
