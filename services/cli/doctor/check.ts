// What the doctor says of one thing that it looked at.

/** failure: events are lost or stand, now or with the next fault; warning: it is not as it should be, or could not be looked at. */
export type CheckState = 'ok' | 'warning' | 'failure';

export interface CheckResult {
  /** What was looked at, as `redis.persistence`; stable, for programs. */
  check: string;
  state: CheckState;
  says: string;
  /** What to do; empty where all is well. */
  todo: string;
}

export const OPERATIONS = 'docs/operations.md';

export const ok = (check: string, says: string): CheckResult => ({ check, state: 'ok', says, todo: '' });
export const warning = (check: string, says: string, todo: string): CheckResult => ({
  ...{ check, state: 'warning', says, todo },
});
export const failure = (check: string, says: string, todo: string): CheckResult => ({
  ...{ check, state: 'failure', says, todo },
});

/** What this user, or this login, may not read. */
export const unread = (check: string, what: string, todo: string): CheckResult =>
  warning(check, `${what} may not be read with this login`, todo);

const LISTED_MAX = 4;

export function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return more > 0 ? `${names.slice(0, LISTED_MAX).join(', ')} and ${more} more` : names.join(', ');
}

const GIB = 1024 ** 3;

/** How full a disk is. */
export function diskCheck(check: string, name: string, freeBytes: number, totalBytes: number): CheckResult {
  const share = freeBytes / totalBytes;
  const says = `${name}: ${(freeBytes / GIB).toFixed(1)} GiB free, ${Math.floor(100 * share)} %`;
  const todo = `free space before it is full: ${OPERATIONS}#disks-and-parts`;
  if (share < 0.03) return failure(check, says, todo);
  return share < 0.1 && freeBytes < 20 * GIB ? warning(check, says, todo) : ok(check, says);
}

const CLOCK_MS_WARNING = 5_000;
const CLOCK_MS_MAX = 5 * 60_000;

/** How the clock of this host stands to another, whose answers tell the time to `withinMs`. */
export function clockCheck(check: string, other: string, aheadMs: number, withinMs = 0): CheckResult {
  const offMs = Math.max(0, Math.abs(aheadMs) - withinMs);
  const says =
    offMs === 0 || offMs < CLOCK_MS_WARNING
      ? `the clocks of this host and of ${other} agree`
      : `the clock of this host is ${Math.round(offMs / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${other}`;
  const todo = `run NTP on both: ${OPERATIONS}#clocks`;
  if (offMs < CLOCK_MS_WARNING) return ok(check, says);
  return offMs > CLOCK_MS_MAX ? failure(check, says, todo) : warning(check, says, todo);
}
