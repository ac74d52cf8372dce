import { domainAt, isUserAtHost } from './email_domain.ts';
import { REDACTED } from './redacted.ts';

/** `@`, percent-encoded any number of times; typed twice it is still one address. */
const AT_SIGN = /(?:@|%(?:25)*40)+/gi;
const ONE_AT_SIGN = /^(?:@|%(?:25)*40)$/i;
/** HTML that shows nothing where it stands, also with its slash escaped. */
const TAGS_BEHIND = /(?:<(?:\\{0,8}\/)?[a-z][^<>@]{0,60}>|<!--[^<>@]{0,60}-->){0,4}/iy;
const TAGS_BEFORE = /(?:<(?:\\{0,8}\/)?[a-z][^<>@]{0,60}>|<!--[^<>@]{0,60}-->){1,4}$/i;
const TAGS_CHARACTERS_MAX = 260;
const LOCAL_END = new Set(' \t\r\n\f\v\u00a0\u2028\u2029/\\?&=#:;,<>()[]|@"'.split(''));
/** Escapes of the characters that end a local part, the at sign's own among them. */
const ESCAPE_ENDS = new Set('09 0a 0d 20 22 23 26 28 29 2c 2f 3a 3b 3c 3d 3e 3f 40 5b 5c 5d'.split(' '));
const ENCODING_ROUNDS_MAX = 4;
/** 64 characters, each percent-encoded twice. */
const LOCAL_CHARACTERS_MAX = 320;
const QUOTED_CHARACTERS_MAX = 66;
/** Scripts written without spaces begin here: before an ASCII local part they are prose. */
const FIRST_CJK_CODE = 0x2e80;

/**
 * Replaces every e-mail address by the redaction word. Works outward from each at sign, so that its cost stays linear
 * whatever the text: a regular expression that starts at the local part is quadratic on long runs of letters.
 */
export function redactEmails(text: string): string {
  let clean = '';
  let kept = 0;
  for (const { 0: sign, index } of text.matchAll(AT_SIGN)) {
    if (index < kept) continue;
    const end = tagsEnd(text, index + sign.length);
    const domain = domainAt(text, end);
    if (domain === null) continue;
    const at = tagsStart(text, index, kept);
    const start = localStart(text, at, kept);
    const goesOn = at === kept && kept > 0;
    if (start === at && !goesOn) continue;
    const isPlain = ONE_AT_SIGN.test(sign) && at === index && end === index + sign.length;
    if (domain.host !== null && !(isPlain && isUserAtHost(text.slice(start, at), domain.host))) continue;
    if (!goesOn) clean += text.slice(kept, start) + REDACTED;
    kept = domain.end;
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

/** Where tags and comments begin that end at a place; the place itself where there are none. */
function tagsStart(text: string, end: number, least: number): number {
  if (text.charAt(end - 1) !== '>') return end;
  const before = text.slice(Math.max(least, end - TAGS_CHARACTERS_MAX), end);
  return end - (TAGS_BEFORE.exec(before)?.[0].length ?? 0);
}

function tagsEnd(text: string, from: number): number {
  TAGS_BEHIND.lastIndex = from;
  return from + (TAGS_BEHIND.exec(text)?.[0].length ?? 0);
}

function localStart(text: string, at: number, least: number): number {
  const before = text.charAt(at - 1);
  if (before === '"') return openingOf('"', text, at - 1, least) ?? at;
  if (before === ')') return localStartBefore(text, openingOf('(', text, at - 1, least) ?? at, least);
  return localStartBefore(text, at, least);
}

function localStartBefore(text: string, at: number, least: number): number {
  const isAscii = text.charCodeAt(at - 1) < 128;
  let start = at;
  const first = Math.max(least, at - LOCAL_CHARACTERS_MAX);
  while (start > first) {
    if (ESCAPE_ENDS.has(escapeBefore(text, start))) break;
    if (LOCAL_END.has(text.charAt(start - 1))) break;
    if (isAscii && text.charCodeAt(start - 1) >= FIRST_CJK_CODE) break;
    start -= 1;
  }
  return start;
}

/** The two hex digits of the percent escape that ends before `end`, seen through further rounds of encoding; or empty. */
function escapeBefore(text: string, end: number): string {
  let start = end - 2;
  for (let round = 1; round < ENCODING_ROUNDS_MAX && text.startsWith('25', start - 2); round += 1) start -= 2;
  return text.charAt(start - 1) === '%' ? text.slice(end - 2, end).toLowerCase() : '';
}

/** Where the quotes of `"jane doe"@example.com` or the comment of `jane(work)@example.com` begin (RFC 5321, 5322). */
function openingOf(mark: string, text: string, closing: number, least: number): number | null {
  const first = Math.max(least, closing - QUOTED_CHARACTERS_MAX);
  const opening = text.slice(first, closing).lastIndexOf(mark);
  return opening < 0 ? null : first + opening;
}
