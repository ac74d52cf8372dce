/**
 * Milliseconds of a clock that only goes forward, for spans of time. The time of day may be set back, by an hour as well:
 * nobody is to be refused, nor anything taken for new, for as long as that.
 */
export const monotonicMs = (): number => performance.now();

/** When a time of that clock is by the time of day, as it is now. */
export const wallMsOf = (ms: number): number => Date.now() + ms - monotonicMs();
