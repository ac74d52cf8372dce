/** Text that a person typed, for lists and logs: trimmed, without control characters, of limited length. */
export function isPlainText(text: string, charactersMin: number, charactersMax: number): boolean {
  if (text.length < charactersMin || text.length > charactersMax) return false;
  return text === text.trim() && !/\p{Cc}/u.test(text);
}

/** An event name: 1 to 200 characters, trimmed, no control characters. */
export const isEventName = (text: string): boolean => isPlainText(text, 1, 200);
