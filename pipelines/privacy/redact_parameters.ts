import { keyMeaning } from './key_meaning.ts';
import { mustGo } from './must_go.ts';
import { REDACTED } from './redacted.ts';

const NAME_CHARACTERS_MAX = 80;
const VALUE_CHARACTERS_JUDGED = 80;
/** `=`, plain or percent-encoded any number of times: a URL may carry another in a parameter. */
const EQUALS = /=|%(?:25)*3D/gi;
const NAME_STARTS = /%(?:25)*(?:3F|26|23|3B|20|2F|3A|0A|0D)/i;
const VALUE_END = /[&#;\s"'<>]/g;
const ENCODED_VALUE_END = /[&#;\s"'<>]|%(?:25)*(?:26|23|22|3B)/gi;

/**
 * Replaces the values of query parameters whose names say that they identify a person (`email`, `phone`,
 * `user[first_name]`), and with `anonymous` also those that identify a visitor (`fbclid`, `uid`).
 */
export function redactParameters(text: string, anonymous: boolean): string {
  const hasEscapes = text.includes('%');
  let clean = '';
  let kept = 0;
  let equals = nextEquals(text, 0, hasEscapes);
  while (equals !== null) {
    const start = equals.end;
    const meaning = keyMeaning(nameBefore(text, equals.start, kept));
    const isEncoded = equals.end - equals.start > 1;
    if (meaning.removal !== 'never' && mustGo(meaning, valueStart(text, start, isEncoded), anonymous)) {
      clean += text.slice(kept, start) + REDACTED;
      kept = valueEnd(text, start, isEncoded);
    }
    equals = nextEquals(text, Math.max(start, kept), hasEscapes);
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

function nextEquals(text: string, from: number, hasEscapes: boolean): { start: number; end: number } | null {
  if (!hasEscapes) {
    const start = text.indexOf('=', from);
    return start < 0 ? null : { start, end: start + 1 };
  }
  EQUALS.lastIndex = from;
  const found = EQUALS.exec(text);
  return found === null ? null : { start: found.index, end: EQUALS.lastIndex };
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
function valueStart(text: string, start: number, encoded: boolean): string {
  const head = text.slice(start, start + VALUE_CHARACTERS_JUDGED);
  return head.slice(0, valueEnd(head, 0, encoded));
}

function valueEnd(text: string, start: number, encoded: boolean): number {
  const ends = encoded ? ENCODED_VALUE_END : VALUE_END;
  ends.lastIndex = start;
  return ends.exec(text)?.index ?? text.length;
}
