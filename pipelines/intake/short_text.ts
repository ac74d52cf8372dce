export const SHORT_TEXT_CHARACTERS_MAX = 200;

const CONTROL_CHARACTER = /\p{Cc}/u;

export function hasControlCharacter(text: string): boolean {
  return CONTROL_CHARACTER.test(text);
}

/** Trimmed, 1 to 200 characters, none of them a control; null when it is anything else. */
export function readShortText(sent: unknown): string | null {
  if (typeof sent !== 'string') return null;
  const text = sent.trim();
  if (text === '' || text.length > SHORT_TEXT_CHARACTERS_MAX || hasControlCharacter(text)) return null;
  return text.toWellFormed();
}
