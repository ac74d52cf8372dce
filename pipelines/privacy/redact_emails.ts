import { REDACTED } from './redacted.ts';

/** `@`, percent-encoded any number of times, and its fullwidth form. */
const AT_SIGN = /@|%(?:25)*40|\uff20|%(?:25)*EF%(?:25)*BC%(?:25)*A0/gi;
/** What may follow the at sign; dots may be percent-encoded. */
const DOMAIN = /(?:[\p{L}\p{N}\p{M}_-]|\.|%(?:25)*2E)+/giuy;
const ENCODED_DOT = /%(?:25)*2E/gi;
const DOMAIN_WITH_TLD = /^[^.]+(?:\.[^.]+)*\.(?:xn--[a-z0-9-]{2,}|[a-z]{2,}|[^\p{ASCII}]{2,})/iu;
/** File names such as `logo@2x.png` and `jquery@3.js` look like addresses; none of these is a top-level domain. */
const FILE_NAME = /\.(?:png|jpe?g|gif|svg|webp|avif|ico|js|mjs|css|json|html?|woff2?)$/i;
const LOCAL_END = new Set(' \t\r\n\f\v\u00a0\u2028\u2029/\\?&=#:;,<>()[]|@"'.split(''));
/** Escapes of the characters that end a local part, the at sign's own among them. */
const ESCAPE_ENDS = new Set('09 0a 0d 20 22 23 26 28 29 2c 2f 3a 3b 3c 3d 3e 3f 40 5b 5c 5d'.split(' '));
const ENCODING_ROUNDS_MAX = 4;
/** 64 characters, each percent-encoded twice. */
const LOCAL_CHARACTERS_MAX = 320;
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
    const start = localStart(text, index, kept);
    const end = domainEnd(text, index + sign.length);
    const goesOn = index === kept && kept > 0;
    if (end === null || (start === index && !goesOn)) continue;
    if (!goesOn) clean += text.slice(kept, start) + REDACTED;
    kept = end;
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

function domainEnd(text: string, from: number): number | null {
  DOMAIN.lastIndex = from;
  const raw = DOMAIN.exec(text)?.[0];
  if (raw === undefined) return null;
  const plain = raw.replace(ENCODED_DOT, '.');
  const domain = DOMAIN_WITH_TLD.exec(plain)?.[0];
  if (domain === undefined || FILE_NAME.test(domain)) return null;
  return plain === raw ? from + domain.length : from + raw.length;
}

function localStart(text: string, at: number, least: number): number {
  if (text.charAt(at - 1) === '"') return quotedStart(text, at - 1, least);
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

/** Local parts such as `"jane doe"@example.com` (RFC 5321). */
function quotedStart(text: string, closing: number, least: number): number {
  const opening = text.lastIndexOf('"', closing - 1);
  return opening >= least && closing - opening <= 66 ? opening : closing + 1;
}
