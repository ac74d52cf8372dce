// E-mail addresses in texts, and sign-ins in URLs.

import { isIPv4 } from 'node:net';
import { REDACTED } from './normalise_text.ts';

/** `@`, percent-encoded any number of times; typed twice it is still one address. */
const AT_SIGN = /(?:@|%(?:25)*40)+/gi;
const ONE_AT_SIGN = /^(?:@|%(?:25)*40)$/i;
/** HTML that shows nothing where it stands, also with its slash escaped. */
const TAGS_BEHIND = /(?:<(?:\\{0,8}\/)?[a-z][^<>@]{0,60}>|<!--[^<>@]{0,60}-->){0,4}/iy;
const TAGS_BEFORE = /(?:<(?:\\{0,8}\/)?[a-z][^<>@]{0,60}>|<!--[^<>@]{0,60}-->){1,4}$/i;
const TAGS_CHARACTERS_MAX = 260;
/** Blanks and control characters beside an at sign, as of lines that were broken there, also written out. */
const BLANK = String.raw`[\s\p{Cc}]|\\{1,8}(?:[fnrtv]|u00[01][0-9a-f])`;
const BLANKS_BEHIND = new RegExp(`(?:${BLANK}){1,8}`, 'uy');
const BLANKS_BEFORE = new RegExp(`(?:${BLANK}){1,8}$`, 'u');
const BLANKS_CHARACTERS_MAX = 40;
/** Before an at sign it is an escape that is not needed. */
const BACKSLASHES_BEFORE = /\\{1,8}$/;
/** What is no word of a sentence, which may be followed by somebody's name: `see you @jane.doe`. */
const LOCAL_ALONE = /[._\d]/;
const BACKSLASH = 0x5c;
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
    const found = addressAround(text, index, index + sign.length, kept);
    if (found === null) continue;
    if (!found.goesOn) clean += text.slice(kept, found.start) + REDACTED;
    kept = found.end;
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

interface Address {
  start: number;
  end: number;
  /** It follows the one before it at once: `a@b.example@c.example`. */
  goesOn: boolean;
}

/** The address whose at sign, or several, is at a place. `least`: before it nothing is looked at. */
function addressAround(text: string, index: number, signEnd: number, least: number): Address | null {
  const tagged = tagsEnd(text, signEnd);
  const behind = blanksEnd(text, tagged);
  const domain = domainAt(text, behind);
  if (domain === null) return null;
  const at = tagsStart(text, index, least);
  const before = blanksStart(text, at, least);
  const start = localStart(text, before, least);
  const goesOn = at === least && least > 0;
  if (start === before && !goesOn) return null;
  const isSpacedBefore = before < at && text.charAt(at - 1) !== '\\';
  if (isSpacedBefore && behind === tagged && !LOCAL_ALONE.test(text.slice(start, before))) return null;
  const isPlain = before === at && ONE_AT_SIGN.test(text.slice(index, signEnd)) && at === index && behind === signEnd;
  if (domain.host !== null && !(isPlain && isUserAtHost(text.slice(start, at), domain.host))) return null;
  return { start, end: domain.end, goesOn };
}

function blanksEnd(text: string, from: number): number {
  if (!mayBeBlank(text.charCodeAt(from))) return from;
  BLANKS_BEHIND.lastIndex = from;
  return from + (BLANKS_BEHIND.exec(text)?.[0].length ?? 0);
}

/** Where what does not show begins before an at sign: blanks, control characters, and backslashes. */
function blanksStart(text: string, end: number, least: number): number {
  const isEscaped = text.charCodeAt(end - 2) === BACKSLASH || text.charCodeAt(end - 6) === BACKSLASH;
  if (!isEscaped && !mayBeBlank(text.charCodeAt(end - 1))) return end;
  const before = text.slice(Math.max(least, end - BLANKS_CHARACTERS_MAX), end);
  const blanks = BLANKS_BEFORE.exec(before)?.[0].length ?? 0;
  return end - (blanks > 0 ? blanks : (BACKSLASHES_BEFORE.exec(before)?.[0].length ?? 0));
}

/** What no regular expression need look at is most of all. */
const mayBeBlank = (code: number): boolean => code <= 0x20 || code >= 0x7f || code === BACKSLASH;

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

/** What may follow the at sign; dots may be percent-encoded. */
const DOMAIN = /(?:[\p{L}\p{N}\p{M}_-]|\.|%(?:25)*2E)+/giuy;
const ENCODED_DOT = /%(?:25)*2E/gi;
const DOMAIN_WITH_TLD = /^[^.]+(?:\.{1,2}[^.]+)*\.{1,2}(?:xn--[a-z0-9-]{2,}|[a-z]{2,}|[^\p{ASCII}]{2,})/iu;
/** `[192.0.2.1]` and `[IPv6:2001:db8::1]` (RFC 5321). */
const ADDRESS_LITERAL = /(?:\[|%(?:25)*5B)(?:IPv6:)?(?:[0-9A-F:.]|%(?:25)*3A){3,60}(?:\]|%(?:25)*5D)/iy;
/** What files are called by: none of these is a top-level domain. */
const FILE_ENDING =
  /\.(?:png|jpe?g|gif|svg|webp|avif|bmp|tiff?|ico|pdf|js|mjs|cjs|css|map|json|xml|txt|csv|html?|php|aspx?|woff2?|ttf|otf|eot|mp[34]|webm)$/i;
/** What a file's name goes on with: no host has it. `jane@shop.co.uk_2026.csv` */
const BEHIND_DOMAIN = /(?<=\.[a-z]{2,24})_[^.]*$/i;
/** Labels that stand before a file's ending, and are not the end of a domain. */
const BUILD_LABEL =
  /\.(?:min|slim|umd|esm|cjs|iife|prod|production|dev|development|global|browser|module|bundle|test|spec|core|d|en|js|css|tar)$/i;
/** As in `logo@2x.dark.png`. */
const DENSITY = /^\d+(?:\.\d+)?x(?![a-z0-9-])/i;
/** As in `jquery@3.6.0-rc.one` and `checkout@v4.1-rc.one`. */
const VERSION = /^(?:v?\d+\.\d+\.\d+(?:[-+]|$)|v\d+$|v\d+(?:\.\d+)+(?:[-+]|$))/i;
/** A name in a local network. */
const HOST = /^[a-z](?:[a-z0-9_-]*[a-z0-9])\.?$/i;
/** What package managers write behind an at sign, and no host is called. */
const TAG =
  /^(?:latest|next|beta|alpha|rc|canary|dev|devel|main|master|trunk|stable|lts|head|tip|experimental|nightly|current|legacy|workspace|edge|insiders?|preview|snapshot|release|prod|production|staging|test|file|link|npm|sha\d+|v\d.*)$/i;
const USER = /^[a-z0-9][a-z0-9._+'-]+$/i;
const USER_LETTERS = /[a-z]|\d{6}/i;
const LOWER = /[a-z]/;
const UPPER = /[A-Z]/;

interface Domain {
  /** Where it ends. */
  end: number;
  /** The name of a host without any domain, which only some local parts make an address of. */
  host: string | null;
}

/** The domain, address or host that begins at a place in the text; null where there is none. */
function domainAt(text: string, from: number): Domain | null {
  ADDRESS_LITERAL.lastIndex = from;
  const literal = ADDRESS_LITERAL.exec(text);
  if (literal !== null) return { end: from + literal[0].length, host: null };
  DOMAIN.lastIndex = from;
  const raw = DOMAIN.exec(text)?.[0];
  if (raw === undefined) return null;
  const plain = raw.replace(ENCODED_DOT, '.');
  if (isIPv4(plain)) return { end: from + raw.length, host: null };
  if (VERSION.test(plain)) return null;
  const domain = DOMAIN_WITH_TLD.exec(plain)?.[0];
  if (domain === undefined) return HOST.test(plain) ? { end: from + raw.length, host: plain } : null;
  const name = withoutFileEnding(domain);
  if (name === null) return null;
  return { end: from + (plain === raw ? name.length : raw.length), host: null };
}

/** The domain in `jane@shop.example.png`; null in `jquery@3.min.js`, which has none. */
function withoutFileEnding(domain: string): string | null {
  if (!FILE_ENDING.test(domain)) return domain;
  const stem = domain.replace(FILE_ENDING, '').replace(BEHIND_DOMAIN, '');
  const isDomain = DOMAIN_WITH_TLD.exec(stem)?.[0] === stem && !DENSITY.test(stem) && !BUILD_LABEL.test(stem);
  return isDomain ? stem : null;
}

/** Whether `user@host` is an address: one case throughout, as addresses are written, unlike `Live@Wembley`. */
function isUserAtHost(user: string, host: string): boolean {
  if (!USER.test(user) || !USER_LETTERS.test(user) || TAG.test(host)) return false;
  const both = user + host;
  return !(LOWER.test(both) && UPPER.test(both));
}

const COLON = '(?::|%(?:25)*3A)';
const SLASH = String.raw`(?:\\{0,8}\/|%(?:25)*2F)`;
const URL_AT_SIGN = '(?:@|%(?:25)*40)';
const ENDS = String.raw`\s/?#"'<>\\`;
const ENCODED_ENDS = '%(?:25)*(?:0[9AD]|2[0237F]|3[CEF]|5C)';
/** Ends at the first colon. */
const URL_USER = `(?:(?!${ENCODED_ENDS}|${COLON}|${URL_AT_SIGN})[^${ENDS}]){0,256}`;
/** Goes to the last at sign before the path: not everybody encodes those in it. */
const URL_PASSWORD = `(?:(?!${ENCODED_ENDS})[^${ENDS}]){0,1024}`;
const USERINFO = new RegExp(
  `(?<start>${COLON}${SLASH}{2})${URL_USER}${COLON}${URL_PASSWORD}(?<sign>${URL_AT_SIGN})`,
  'gi',
);

/** Replaces the user and the password before a URL's host by one redaction word: `https://jane:secret@shop.example/`. */
export function redactUserinfo(text: string): string {
  return text.replace(USERINFO, `$<start>${REDACTED}$<sign>`);
}
