// How commands read what is typed: moments, numbers, pairs, files, and what of a resource is to change.

import { isDeepStrictEqual } from 'node:util';
import { type Context, UsageError } from './command.ts';

const UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const INSTANT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** A length of time in milliseconds: `7d`, `12h`, `30m` or `0`; null for anything else. */
export function lengthOf(text: string): number | null {
  if (text === '0') return 0;
  const [, amount, unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (UNIT_MS[unit] ?? 0);
}

/** A length of time, as an option gives it. @throws UsageError */
export function readDuration(text: string, option: string): number {
  const length = lengthOf(text);
  if (length === null) throw new UsageError('duration_malformed', `--${option} ${text} is not like 7d, 12h or 30m`);
  return length;
}

/** An ISO 8601 date (its first moment in UTC) or time with offset, in milliseconds since 1970 UTC; null for anything else. */
export function instantOf(text: string): number | null {
  const instantMs = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(instantMs) ? null : instantMs;
}

/** A moment: `now`, `3h` (so long ago), a date or a time. @throws UsageError */
export function readMoment(text: string, option: string, nowMs: number): number {
  const length = lengthOf(text);
  const momentMs = text === 'now' ? nowMs : length === null ? instantOf(text) : nowMs - length;
  if (momentMs !== null) return momentMs;
  const forms = 'a date (2027-01-31), a time with its offset (2027-01-31T08:00Z), how long ago (3d, 12h, 30m), or now';
  throw new UsageError('moment_malformed', `--${option} ${text} is none of: ${forms}`);
}

/** When something ends: `90d` from now, a date or a time, or `never` (null). @throws UsageError */
export function readExpiry(text: string, option: string, nowMs: number): number | null {
  if (text === 'never') return null;
  const length = lengthOf(text);
  const expiresMs = length === null ? instantOf(text) : nowMs + length;
  if (expiresMs === null) {
    throw new UsageError('expiry_malformed', `--${option} ${text} is not like 90d, 12h, 2027-01-31 or never`);
  }
  if (expiresMs <= nowMs) throw new UsageError('expiry_malformed', `--${option} ${text} is in the past`);
  return expiresMs;
}

/** A whole number. @throws UsageError */
export function readCount(text: string, option: string): number {
  const plain = text.replaceAll('_', '');
  if (!/^\d{1,15}$/.test(plain)) throw new UsageError('number_malformed', `--${option} ${text} is not a whole number`);
  return Number(plain);
}

/** Splits `name=value` at its first `=`. The value is never part of the message, as it may be a secret. */
export function readPair(text: string, option: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError('pair_malformed', `--${option} takes name=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Reads a file, or standard input for `-`. @throws UsageError when there is no such file or it may not be read. */
export function readText(context: Pick<Context, 'readFile' | 'readStdin'>, path: string): string {
  if (path === '-') return context.readStdin();
  try {
    return context.readFile(path);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new UsageError('file_unreadable', `${path} cannot be read (${String(error.code)})`);
  }
}

/** @throws UsageError for what is not JSON; the engine says line and column. */
export function readJson(text: string, code: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(code, `${path} is no JSON: ${error.message}`);
  }
}

/** The same, for what is an object; what is wrong within is for the service to say. @throws UsageError */
export function readObject(text: string, code: string, path: string): Record<string, unknown> {
  const value = readJson(text, code, path);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new UsageError(code, `${path} does not hold a JSON object`);
}

/** With the text that a number or other single value was read from. */
export type JsonReviver = (name: string, value: unknown, context: { source?: string }) => unknown;

/** An object in JSON that somebody else wrote; null where the text is none. */
export function objectIn(text: string, reviver?: JsonReviver): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** @throws UsageError when there is no such fact. */
export function known<T>(fact: T | undefined, kind: string, id: string): T {
  if (fact === undefined) throw new UsageError(`${kind}_unknown`, `there is no ${kind} ${id}`);
  return fact;
}

/** The fields of a change that are given and differ from what is there. @throws UsageError when none does. */
export function changedFields(before: object, change: object): object {
  const differing = Object.entries(change).filter(
    ([name, value]) => value !== undefined && !isDeepStrictEqual(Reflect.get(before, name), value),
  );
  if (differing.length === 0) throw unchanged();
  return Object.fromEntries(differing);
}

export function unchanged(): UsageError {
  return new UsageError('nothing_to_change', 'nothing would change; see --help for what can be changed');
}

/** A list with some items added and some removed. @throws UsageError for removing what is not there. */
export function edited<T>(
  items: readonly T[],
  added: readonly T[],
  removed: readonly T[],
  textOf: (item: T) => string = String,
): T[] {
  const texts = new Set(items.map(textOf));
  const missing = removed.map(textOf).find((text) => !texts.has(text));
  if (missing !== undefined) throw new UsageError('not_there', `${missing} is not there, so it cannot be removed`);
  const gone = new Set(removed.map(textOf));
  const fresh = added.filter((item) => !texts.has(textOf(item)) || gone.has(textOf(item)));
  return [...items.filter((item) => !gone.has(textOf(item))), ...fresh];
}
