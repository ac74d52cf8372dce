import type { Arguments } from './command.ts';
import { UsageError } from './usage_error.ts';

const UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const INSTANT_PATTERN = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/**
 * Reads when something expires, in milliseconds since 1970 UTC: `90d`, `12h` or `30m` from now, an ISO 8601 date (its
 * first moment in UTC) or time with offset, or `never` (null). @throws UsageError for anything else.
 */
export function readExpiry(text: string, nowMs: number): number | null {
  if (text === 'never') return null;
  const [, amount, unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return nowMs + Number(amount) * (UNIT_MS[unit] ?? 0);
  const instantMs = INSTANT_PATTERN.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instantMs)) {
    throw new UsageError('expiry_malformed', `--expires ${text} is not like 90d, 12h, 2027-01-31 or never`);
  }
  if (instantMs <= nowMs) throw new UsageError('expiry_malformed', `--expires ${text} is in the past`);
  return instantMs;
}

const MOMENT_FORMS =
  'a date (2027-01-31), a time with its offset (2027-01-31T08:00Z), how long ago (3d, 12h, 30m), or now';

/**
 * Reads a moment in milliseconds since 1970 UTC: `now`, `3h` (so long ago; m, h, d), or an ISO 8601 date or time with
 * offset. @throws UsageError for anything else.
 */
export function readMoment(text: string, option: string, nowMs: number): number {
  if (text === 'now') return nowMs;
  const [, amount, unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (UNIT_MS[unit] ?? 0);
  const instantMs = INSTANT_PATTERN.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instantMs)) {
    throw new UsageError('moment_malformed', `--${option} ${text} is none of: ${MOMENT_FORMS}`);
  }
  return instantMs;
}

/**
 * Reads an ISO 8601 date, its first moment in UTC, or time with offset, in milliseconds since 1970 UTC. @throws UsageError
 * for anything else.
 */
export function readInstant(text: string, field: string): number {
  const instantMs = INSTANT_PATTERN.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(instantMs)) return instantMs;
  throw new UsageError(
    'moment_malformed',
    `${field} is neither a date (2027-01-31) nor a time with its offset (2027-01-31T08:00Z)`,
  );
}

/** Reads a length of time in milliseconds: `7d`, `12h`, `30m` or `0`. @throws UsageError for anything else. */
export function readDuration(text: string, option: string): number {
  const length = readLength(text);
  if (length === null) throw new UsageError('duration_malformed', `--${option} ${text} is not like 7d, 12h or 30m`);
  return length;
}

/** The same, or null for anything else. */
export function readLength(text: string): number | null {
  if (text === '0') return 0;
  const [, amount, unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (UNIT_MS[unit] ?? 0);
}

/** The path of a resource; what was typed may hold anything. */
export function pathOf(...parts: string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

/** Reads a whole number. @throws UsageError for anything else. */
export function readWhole(text: string, option: string): number {
  const plain = text.replaceAll('_', '');
  if (!/^\d{1,15}$/.test(plain)) throw new UsageError('number_malformed', `--${option} ${text} is not a whole number`);
  return Number(plain);
}

/** The whole number that an option gives; undefined where it is not given. @throws UsageError */
export function readCount(args: Pick<Arguments, 'text'>, option: string): number | undefined {
  const text = args.text(option);
  return text === undefined ? undefined : readWhole(text, option);
}

/** Splits `name=value` at its first `=`. The value is never part of the message, as it may be a secret. */
export function readPair(text: string, option: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError('pair_malformed', `--${option} takes name=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}
