// What a command is, and how it reads its words, files and the fields of a change.

import { isDeepStrictEqual } from 'node:util';
import type { ControlClient } from '#services/control_api/client.ts';
import type { Meta } from '#services/control_api/fields.ts';

/** The arguments of one command, read and known to be complete. */
export interface Arguments {
  subject: string;
  /** Every positional argument. */
  subjects: readonly string[];
  /** Undefined when the option was not given; an empty text was. */
  text(name: string): string | undefined;
  texts(name: string): string[];
  flag(name: string): boolean;
}

/** Everything a command may use beside its arguments. */
export interface Context {
  client: ControlClient;
  nowMs: number;
  readFile(path: string): string;
  readStdin(): string;
  /** A file of the folder that holds everything local; null where there is none. */
  readLocal(name: string): string | null;
  /** For commands that wait for something: lines that are no part of the outcome, and pauses. */
  watch: { say(line: string): void; sleep(ms: number): Promise<void> };
}

/** What a command comes to, once it is done: what is printed for people, and for programs. */
export interface Outcome {
  /** Part of what was asked for was not done: exit status 1. */
  isPartial?: boolean;
  text: string;
  json: unknown;
}

/** `many`: any number of them, also none. `words`: how many there are, where it is not one. */
interface Subject {
  name: string;
  help: string;
  many?: true;
  words?: number;
}

export interface OptionSpec {
  kind: 'text' | 'texts' | 'flag';
  /** How the value is called in the help. */
  value?: string;
  help: string;
  required?: true;
}

/**
 * A command is a value: its words, its options and what it does with the control service. It throws UsageError for what
 * cannot be done, and passes on what the service refuses.
 */
export interface Command {
  noun: string;
  verb: string;
  summary: string;
  /** The positional argument; null where there is none. */
  subject: Subject | null;
  options: Record<string, OptionSpec>;
  examples: string[];
  run(args: Arguments, context: Context): Promise<Outcome>;
}

/** Exit status: 0 done, 1 it failed though the request was sound, 2 the request cannot be done. */
export interface CliResult {
  exitCode: 0 | 1 | 2;
  stdout: string;
  stderr: string;
}

/** What was typed cannot be done: one line for the terminal, and exit status 2. */
export class UsageError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

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

/** @throws UsageError when there is no such fact. */
export function known<T>(fact: T | undefined, kind: string, id: string): T {
  if (fact === undefined) throw new UsageError(`${kind}_unknown`, `there is no ${kind} ${id}`);
  return fact;
}

/** The fields of a change that differ from what is there. @throws UsageError when none does. */
export function changedFields(before: object, change: object): object {
  const differing = Object.entries(change).filter(
    ([name, value]) => !isDeepStrictEqual(Reflect.get(before, name), value),
  );
  if (differing.length === 0) throw unchanged();
  return Object.fromEntries(differing);
}

export function unchanged(): UsageError {
  return new UsageError('nothing_to_change', 'it is as given already; see --help for what can be changed');
}

/** A resource without what is known of it beside its own fields. */
export function withoutMeta<Item extends Meta>(item: Item): Omit<Item, keyof Meta> {
  const { version: _version, changed_at: _changedAt, changed_by: _changedBy, ...fields } = item;
  return fields;
}

/** A list with some items added and some removed. @throws UsageError for removing what is not there. */
export function edited<T>(
  items: readonly T[],
  added: readonly T[],
  removed: readonly T[],
  textOf: (item: T) => string,
): T[] {
  const texts = new Set(items.map(textOf));
  const missing = removed.map(textOf).find((text) => !texts.has(text));
  if (missing !== undefined) throw new UsageError('not_there', `${missing} is not there, so it cannot be removed`);
  const gone = new Set(removed.map(textOf));
  const fresh = added.filter((item) => !texts.has(textOf(item)) || gone.has(textOf(item)));
  return [...items.filter((item) => !gone.has(textOf(item))), ...fresh];
}

/** Fields that were given; the others are left to what they are. */
export function given<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}
