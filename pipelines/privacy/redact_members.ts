import type { Effort } from './effort.ts';
import { keyMeaning } from './key_meaning.ts';
import { mustGo } from './must_go.ts';
import { REDACTED } from './redacted.ts';

/** A quote, with the backslashes of the texts that JSON was put into. */
const QUOTE = String.raw`\\{0,8}["']`;
const SPACE = String.raw`(?:\s|\+){0,4}`;
const NAME = String.raw`[\p{L}\p{N}_$. \-[\]()]{1,80}`;
/** In the literals of JavaScript, and in what logs make of objects. */
const BARE_NAME = String.raw`(?<=(?:^|[{,])\s{0,8})[\p{L}\p{N}_$]{1,80}`;
const TEXT = String.raw`\\{0,8}(?:"[^"\\]*|'[^'\\]*)`;
const NUMBER = String.raw`\d[\d.]*`;
const MEMBER = new RegExp(
  String.raw`(?<=${QUOTE})(?<name>${NAME})${QUOTE}${SPACE}:${SPACE}\[?${SPACE}(?<value>${TEXT}|${NUMBER})|(?<bare>${BARE_NAME})\s{0,4}:\s{0,4}(?<text>${TEXT})`,
  'giu',
);
const OPENED = /^[\\"']*/;

/**
 * Replaces the values of members whose names say that they identify a person or are secrets, in a text that holds an object
 * among other things: JSON in a log line, a URL, or cut off, or as JavaScript or Python write it. With `anonymous` also those
 * that identify a visitor.
 */
export function redactMembers(text: string, anonymous: boolean, effort: Effort): string {
  return text.replace(MEMBER, (member: string, quotedName, quotedValue, bareName, bareValue) => {
    const name: string = quotedName ?? bareName;
    const written: string = quotedValue ?? bareValue;
    const value = written.replace(OPENED, '');
    if (!mustGo(keyMeaning(name, effort), value, anonymous)) return member;
    return member.slice(0, member.length - value.length) + (value === written ? '0' : REDACTED);
  });
}
