import type { Effort } from './effort.ts';
import { keyMeaning } from './key_meaning.ts';
import { mustGo } from './must_go.ts';
import { REDACTED } from './redacted.ts';

/** A double quote, with the backslashes of the texts that JSON was put into. */
const QUOTE = String.raw`\\{0,8}"`;
const SPACE = String.raw`(?:\s|\+){0,4}`;
const NAME = String.raw`([\p{L}\p{N}_$. \-[\]()]{1,80})`;
const TEXT = String.raw`${QUOTE}(?<text>[^"\\]*)`;
const NUMBER = String.raw`(?<number>\d[\d.]*)`;
const MEMBER = new RegExp(
  String.raw`(?<=${QUOTE})${NAME}${QUOTE}${SPACE}:${SPACE}\[?${SPACE}(?:${TEXT}|${NUMBER})`,
  'giu',
);

/**
 * Replaces the values of JSON members whose names say that they identify a person, in a text that holds JSON among
 * other things: in a log line, a URL, or cut off. With `anonymous` also those that identify a visitor.
 */
export function redactMembers(text: string, anonymous: boolean, effort: Effort): string {
  return text.replace(MEMBER, (member: string, name: string, held?: string, number?: string) => {
    const value = held ?? number ?? '';
    if (!mustGo(keyMeaning(name, effort), value, anonymous)) return member;
    return member.slice(0, member.length - value.length) + (number === undefined ? REDACTED : '0');
  });
}
