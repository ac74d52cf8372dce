/** In a regular expression: right behind a line break or tab that is written out, as `\n` and `\t`, a number may begin. */
export const BEHIND_ESCAPE = String.raw`(?<=\\[fnrtv])`;

const BACKSLASH = 0x5c;
const LETTERS: ReadonlySet<string> = new Set('fnrtv');

/** Whether the character at a place is the letter of such an escape, and of no word. */
export function isEscapeLetter(text: string, at: number): boolean {
  return text.charCodeAt(at - 1) === BACKSLASH && LETTERS.has(text.charAt(at));
}
