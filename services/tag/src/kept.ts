import { attempt } from './guarded.ts';

/** What localStorage has under the key; null or undefined where there is nothing that can be read. */
export const readKept = <Value>(key: string): Value | null | undefined =>
  // Without a value null is parsed, which is null: an error, and be it a caught one, costs the engine some compiling.
  attempt(() => JSON.parse(localStorage.getItem(key) as string) as Value | null);

/** Keeps a value for later pages; undefined removes it. */
export const keep = (key: string, value?: object | null): void => {
  attempt(() => (value ? localStorage.setItem(key, JSON.stringify(value)) : localStorage.removeItem(key)));
};
