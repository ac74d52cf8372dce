import { isDeepStrictEqual } from 'node:util';
import { keyOfSetting } from '#pipelines/settings/address.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import type { Setting } from '#schemas/setting.ts';
import type { Context, Write } from './command.ts';
import { UsageError } from './usage_error.ts';

type Bodies = Partial<Pick<Setting, 'account' | 'site' | 'key' | 'destination'>>;

/** The record that writes one body, under the key it belongs to. */
export function writeOf(context: Context, bodies: Bodies): Write {
  const nothing = { account: null, site: null, key: null, destination: null };
  const setting: Setting = { changed_at: context.nowMs, changed_by: context.changedBy, ...nothing, ...bodies };
  const key = keyOfSetting(setting);
  if (key === null) throw new Error('a setting has exactly one body');
  return { key, setting };
}

/** @throws UsageError with the first problem; the others follow in its message. */
export function refuseProblems(problems: readonly Problem[]): void {
  const [first] = problems;
  if (first === undefined) return;
  throw new UsageError(first.code, problems.map(({ field, message }) => `${field}: ${message}`).join('; '));
}

/** @throws UsageError when there is no such fact. */
export function known<T>(fact: T | undefined, kind: string, id: string): T {
  if (fact === undefined) throw new UsageError(`${kind}_unknown`, `there is no ${kind} ${id}`);
  return fact;
}

/** @throws UsageError when the fact is there already. */
export function refuseExisting(fact: object | undefined, kind: string, id: string): void {
  if (fact !== undefined)
    throw new UsageError(`${kind}_exists`, `there is a ${kind} ${id} already; change it with set`);
}

/** @throws UsageError when nothing would change. */
export function refuseUnchanged(before: object, after: object): void {
  if (isDeepStrictEqual(plain(before), plain(after))) {
    throw new UsageError('nothing_to_change', 'it is as given already; see --help for what can be changed');
  }
}

/** Decoded records have a class of their own, which plain objects with the same fields do not equal. */
function plain(fact: object): unknown {
  return JSON.parse(JSON.stringify(fact));
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
