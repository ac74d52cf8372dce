import { type Effort, spend } from './effort.ts';

const JSON_START = /^\s*[[{]/;

/** What the parser's exception costs, and the characters that it reads meanwhile. */
const STEPS = 12;
const CHARACTERS_PER_STEP = 64;

/**
 * What a text says that is itself JSON, as tag managers send whole objects; null where it is none. `unread`: there is no
 * effort left.
 */
export function jsonIn(text: string, effort: Effort): object | null | 'unread' {
  if (!mayBeJson(text)) return null;
  return spend(effort, STEPS + Math.ceil(text.length / CHARACTERS_PER_STEP)) ? parseJson(text) : 'unread';
}

function mayBeJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first > 0x20 && first !== 0x7b && first !== 0x5b) return false;
  if (!JSON_START.test(text)) return false;
  const last = text.trimEnd().at(-1);
  return last === '}' || last === ']';
}

function parseJson(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
