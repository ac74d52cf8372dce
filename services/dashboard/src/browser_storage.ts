// What this browser, or this tab of it, keeps; one that keeps nothing has it until the page is left.

/** What is kept under a key; null: nothing. `of` reads the storage, which browsers may refuse. */
export function readStored(of: () => Storage, key: string): string | null {
  try {
    return of().getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a text, or with null nothing any more. */
export function writeStored(of: () => Storage, key: string, value: string | null): void {
  try {
    if (value === null) of().removeItem(key);
    else of().setItem(key, value);
  } catch {
    // It holds until the page is left.
  }
}
