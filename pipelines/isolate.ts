/** An item that cannot be worked on, and what it made the work throw. */
export interface PoisonPill<T> {
  item: T;
  error: unknown;
}

export interface Isolated<T, R> {
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
