import { attempt } from './guarded.ts';

/** What localStorage has under the key; undefined where there is nothing that can be read. */
export const readKept = <Value>(key: string): Value | undefined =>
  attempt(() => JSON.parse(localStorage.getItem(key) ?? '') as Value);

/** Keeps a value for later pages; undefined removes it. */
export function keep(key: string, value?: object): void {
  attempt(() => (value ? localStorage.setItem(key, JSON.stringify(value)) : localStorage.removeItem(key)));
}
