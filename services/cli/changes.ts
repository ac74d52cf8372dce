import { isDeepStrictEqual } from 'node:util';
import type { Meta } from '#services/control_api/fields.ts';
import { UsageError } from './usage_error.ts';

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
