/** A record without what is null or undefined. */
export const present = (record: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null && value !== undefined));

/** The same, or null when nothing is left. */
export function presentOrNull(record: object): Record<string, unknown> | null {
  const left = present(record);
  return Object.keys(left).length === 0 ? null : left;
}

/** A list of several, the only one by itself, or null: for platforms that take both. */
export const oneOrList = <T>(list: readonly T[]): T | readonly T[] | null =>
  list.length > 1 ? list : (list[0] ?? null);

/** A list, or null when it is empty. */
export const listOrNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);
