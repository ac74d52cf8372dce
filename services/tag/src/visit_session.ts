import { ID_CHARACTERS, IDLE_MS, SESSION_MS_MAX } from './limits.ts';
import { msOf } from './uuid7.ts';

/** The id of a session as its cookie has it: `<UUIDv7>.<when it was last seen: milliseconds, base 36>`. */
export const sessionOf = (kept: string): string => kept.slice(0, ID_CHARACTERS);

/**
 * The session as of now: the kept one goes on for 30 minutes after it was last seen, and ends 24 hours after it began; then
 * a new one begins, as where what was kept cannot be read, or by a clock that was ahead.
 */
export const sessionAt = (kept: string, nowMs: number, newId: (nowMs: number) => string): string => {
  const seenMs = parseInt(kept.slice(ID_CHARACTERS + 1), 36);
  const goesOn = Math.abs(nowMs - seenMs) < IDLE_MS && nowMs - msOf(kept) < SESSION_MS_MAX;
  return `${goesOn ? sessionOf(kept) : newId(nowMs)}.${nowMs.toString(36)}`;
};
