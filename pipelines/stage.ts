// What stages share: items that cannot be worked on set apart, values found once a batch, and progress.

/** What was stored does not have the form in which it is written. */
export class StoredDataError extends Error {
  readonly code = 'stored_data_unreadable';
}

/** An item that cannot be worked on, and what it made the work throw. */
export interface PoisonPill<T> {
  item: T;
  error: unknown;
}

interface Isolated<T, R> {
  /** Results over the other items, in their order. */
  results: R[];
  poisonPills: PoisonPill<T>[];
}

/** More in one batch are no bad items: the work itself is at fault. */
export const POISON_PILLS_MAX = 16;

/**
 * Does a piece of work over items. Where it throws, the items are halved until those are found that make it throw by
 * themselves, and it is done for the rest: so it must bear being done again for the same items.
 *
 * Throws on what `isItems` says is no item's fault, and the first error where more than POISON_PILLS_MAX items would be at
 * fault.
 */
export async function isolate<T, R>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<R>,
  isItems: (error: unknown) => boolean,
): Promise<Isolated<T, R>> {
  const isolated: Isolated<T, R> = { results: [], poisonPills: [] };
  await narrow(items, work, isItems, isolated);
  return isolated;
}

async function narrow<T, R>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<R>,
  isItems: (error: unknown) => boolean,
  into: Isolated<T, R>,
): Promise<void> {
  try {
    into.results.push(await work(items));
    return;
  } catch (error) {
    const [only] = items;
    if (!isItems(error) || only === undefined) throw error;
    if (items.length === 1) {
      into.poisonPills.push({ item: only, error });
      if (into.poisonPills.length > POISON_PILLS_MAX) throw into.poisonPills[0]?.error;
      return;
    }
  }
  const middle = Math.ceil(items.length / 2);
  await narrow(items.slice(0, middle), work, isItems, into);
  await narrow(items.slice(middle), work, isItems, into);
}

/** A function that finds each key's value once, for as long as it is held: for the keys that repeat in a batch. */
export function memoize<Key, Value>(find: (key: Key) => Value): (key: Key) => Value {
  const values = new Map<Key, Value>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = find(key);
    values.set(key, value);
    return value;
  };
}

/** Where a stage stands in its partitions, at one moment. */
export interface StageMoment {
  atMs: number;
  /** The committed offset of each partition, by topic and partition. */
  taken: ReadonlyMap<string, number>;
}

/** A rate is of so long at the least: committing goes in steps. */
const SPAN_MS_MIN = 3_000;
/** Moments older than this say nothing about now. */
const SPAN_MS_MAX = 120_000;

/** Offsets a second between two moments; null where they are too close, or too far from each other. */
export function rateBetween(before: StageMoment | null, now: StageMoment): number | null {
  if (before === null) return null;
  const spanMs = now.atMs - before.atMs;
  if (spanMs < SPAN_MS_MIN || spanMs > SPAN_MS_MAX) return null;
  let taken = 0;
  for (const [partition, offset] of now.taken) taken += Math.max(0, offset - (before.taken.get(partition) ?? offset));
  return Math.round((taken / spanMs) * 10_000) / 10;
}

/** The moment to compare with next time: the one before stays until the new one is far enough from it. */
export function kept(before: StageMoment | null, now: StageMoment): StageMoment {
  const isFar = before === null || Math.abs(now.atMs - before.atMs) >= SPAN_MS_MIN * 3;
  return isFar ? now : before;
}
