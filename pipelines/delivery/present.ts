/** A record without what is null or undefined. */
export const present = (record: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null && value !== undefined));

/** The same, or null when nothing is left. */
export function presentOrNull(record: object): Record<string, unknown> | null {
  const left = present(record);
  return Object.keys(left).length === 0 ? null : left;
}

/** A list, or null when it is empty. */
export const listOrNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);
