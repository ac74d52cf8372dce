import { msOf } from './uuid7.ts';

const IDLE_MS = 30 * 60_000;
const LENGTH_MS = 24 * 3_600_000;
const ID_CHARACTERS = 36;

/** The id of a session as its cookie has it: `<UUIDv7>.<when it was last seen: milliseconds, base 36>`. */
export const sessionOf = (kept: string): string => kept.slice(0, ID_CHARACTERS);

/**
 * The session as of now: the kept one goes on for 30 minutes after it was last seen, and ends 24 hours after it began; then
 * a new one begins, as where what was kept cannot be read.
 */
export function sessionAt(kept: string, nowMs: number, newId: (nowMs: number) => string): string {
  const seenMs = Number.parseInt(kept.slice(ID_CHARACTERS + 1), 36);
  const goesOn = nowMs - seenMs < IDLE_MS && nowMs - msOf(kept) < LENGTH_MS;
  return `${goesOn ? sessionOf(kept) : newId(nowMs)}.${nowMs.toString(36)}`;
}
