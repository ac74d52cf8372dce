/** What a yes-or-no property says. `unreadable`: it is there, and means neither. */
export type Stated = 'yes' | 'no' | 'absent' | 'unreadable';

const YES = new Set(['true', '1', 'yes', 'y', 'on', 't']);
const NO = new Set(['false', '0', 'no', 'n', 'off', 'f']);

/** A value as a word without case; empty where it is none, such as an object, which may not even have a text. */
export const wordOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value).trim().toLowerCase()
    : '';

/** Reads a flag, a number or a word, whatever its case; null and an empty text say nothing. */
export function stated(value: unknown): Stated {
  if (value === undefined || value === null) return 'absent';
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return 'unreadable';
  const word = wordOf(value);
  if (word === '') return 'absent';
  if (YES.has(word)) return 'yes';
  return NO.has(word) ? 'no' : 'unreadable';
}

/** The object or list that a text holds as JSON, as tag managers send them; anything else is as it was. */
export function unwrapped(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}
