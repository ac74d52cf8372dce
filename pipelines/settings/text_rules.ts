/** Text that a person typed, for lists and logs: trimmed, without control characters, of limited length. */
export function isPlainText(text: string, charactersMin: number, charactersMax: number): boolean {
  if (text.length < charactersMin || text.length > charactersMax) return false;
  return text === text.trim() && !/\p{Cc}/u.test(text);
}

/** An event name: 1 to 200 characters, trimmed, no control characters. */
export const isEventName = (text: string): boolean => isPlainText(text, 1, 200);

/**
 * Whether every object has a property of this name, as `constructor` and `__proto__`: as a key it would name that, in
 * this process or in whatever reads what it answers.
 */
export function isReservedName(text: string): boolean {
  return text === 'prototype' || text in Object.prototype;
}
