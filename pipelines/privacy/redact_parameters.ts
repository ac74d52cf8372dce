import type { Effort } from './effort.ts';
import { keyMeaning } from './key_meaning.ts';
import { mustGo } from './must_go.ts';
import { REDACTED } from './redacted.ts';

const NAME_CHARACTERS_MAX = 80;
const VALUE_CHARACTERS_JUDGED = 80;
const QUOTES_MAX = 8;
const NAME_STARTS = /%(?:25)*(?:3F|26|23|3B|20|2F|3A|0A|0D)/i;
const VALUE_END = /[&#;\s"'<>\\]/g;

/**
 * Replaces the values of query parameters whose names say that they identify a person (`email`, `phone`,
 * `user[first_name]`), and with `anonymous` also those that identify a visitor (`fbclid`, `uid`).
 */
export function redactParameters(text: string, anonymous: boolean, effort: Effort): string {
  let clean = '';
  let kept = 0;
  let equals = text.indexOf('=');
  while (equals >= 0) {
    const start = equals + 1 + quotesAt(text, equals + 1);
    const meaning = keyMeaning(nameBefore(text, equals, kept), effort);
    if (
      (meaning.removal !== 'never' || meaning.secret !== null) &&
      mustGo(meaning, valueStart(text, start), anonymous)
    ) {
      clean += text.slice(kept, start) + REDACTED;
      kept = valueEnd(text, start);
    }
    equals = text.indexOf('=', Math.max(start, kept));
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

/** The characters of what opens a quoted value, as in HTML, also where the quotes were escaped. */
function quotesAt(text: string, from: number): number {
  let end = from;
  while (end - from < QUOTES_MAX && (text.charCodeAt(end) === 0x5c || text.charCodeAt(end) === 0x22)) end += 1;
  return end - from;
}

function nameBefore(text: string, end: number, least: number): string {
  let start = end;
  const first = Math.max(least, end - NAME_CHARACTERS_MAX);
  while (start > first && isNameCode(text.charCodeAt(start - 1))) start -= 1;
  const name = text.slice(start, end);
  return name.includes('%') ? (name.split(NAME_STARTS).at(-1) ?? '') : name;
}

/** Letters, digits, `$ % - . [ ] _` and everything beyond ASCII. */
function isNameCode(code: number): boolean {
  if (code >= 0x61 && code <= 0x7a) return true;
  if (code >= 0x30 && code <= 0x39) return true;
  if (code >= 0x41 && code <= 0x5b) return true;
  return (
    code === 0x5f || code === 0x2d || code === 0x2e || code === 0x5d || code === 0x24 || code === 0x25 || code > 0x7f
  );
}

/** As much of the value as is needed to judge it, so that the cost stays linear in the text. */
function valueStart(text: string, start: number): string {
  const head = text.slice(start, start + VALUE_CHARACTERS_JUDGED);
  return head.slice(0, valueEnd(head, 0));
}

function valueEnd(text: string, start: number): number {
  VALUE_END.lastIndex = start;
  return VALUE_END.exec(text)?.index ?? text.length;
}
