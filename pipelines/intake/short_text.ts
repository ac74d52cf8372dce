export const SHORT_TEXT_CHARACTERS_MAX = 200;

/** Whether the text holds a character of Unicode's class Cc. A loop, as this runs on every id of every event. */
export function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  }
  return false;
}

/** Trimmed, 1 to 200 characters, none of them a control; null when it is anything else. */
export function readShortText(sent: unknown): string | null {
  if (typeof sent !== 'string') return null;
  const text = sent.trim();
  if (text === '' || text.length > SHORT_TEXT_CHARACTERS_MAX || hasControlCharacter(text)) return null;
  return text.toWellFormed();
}
