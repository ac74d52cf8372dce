// Values in a text under names that say that they are somebody's or a secret: of parameters and assignments, members of objects,
// headers and tags.

import { isRedacted, keyMeaning, looksLikePhone } from './key_meaning.ts';
import { comparableForm, heldSecret, holdsSecret, isSecret, type KeyMeaning, WORDS } from './key_words.ts';
import { REDACTED, type WorkBudget } from './normalise_text.ts';

const NAME_CHARACTERS_MAX = 80;
const VALUE_CHARACTERS_JUDGED = 80;
const BLANKS_MAX = 3;
const QUOTES_MAX = 8;
const NAME_STARTS = /%(?:25)*(?:3F|26|23|3B|20|2F|3A|0A|0D)/i;
const VALUE_END = /[&#;\s"'<>\\]/g;
/** Of a password that holds a semicolon, as what follows is no other name with its value. */
const MORE = /;(?![^&#;\s"'<>\\]*=)[^&#;\s"'<>\\]+/y;
/** What opens a quoted value, also where it was escaped or, as in CSV, doubled. */
const OPENING = /\\{0,8}(?:""(?=[\p{L}\p{N}])|["'`])/uy;
const [BACKSLASH, DOUBLE_QUOTE, SINGLE_QUOTE, BACKTICK, EQUALS, GREATER] = [0x5c, 0x22, 0x27, 0x60, 0x3d, 0x3e];

/**
 * Replaces the values of query parameters whose names say that they identify a person (`email`, `phone`,
 * `user[first_name]`) or are secrets, and with `anonymous` also those that identify a visitor (`fbclid`, `uid`). The same of what
 * programs and their logs write: `password = '…'`, `"password" => "…"`.
 */
export function redactParameters(text: string, anonymous: boolean, budget: WorkBudget): string {
  let clean = '';
  let kept = 0;
  let equals = text.indexOf('=');
  while (equals >= 0) {
    const nameEnd = endOfName(text, equals, kept);
    const sign = endOfSign(text, equals);
    const blanks = blanksAt(text, sign);
    const opening = openingAt(text, sign + blanks);
    const start = sign + blanks + opening.length;
    const meaning = keyMeaning(nameBefore(text, nameEnd, kept), budget);
    if (meaning.removal !== 'never' || meaning.secret !== null) {
      // As much of it as is needed to judge it, so that the cost stays linear in the text.
      const head = text.slice(start, start + VALUE_CHARACTERS_JUDGED);
      const value = head.slice(0, endOfValue(head, 0, opening, meaning));
      const isArrow = text.charCodeAt(sign - 1) === GREATER;
      const isWord = opening === '' && blanks > 0 && !isArrow && isPlainWord(meaning, value);
      const isAssigned = nameEnd < equals || blanks === 0 || opening !== '' || meaning.secret !== null;
      if (isAssigned && !isWord && isRedacted(meaning, value, anonymous)) {
        clean += text.slice(kept, start) + REDACTED;
        kept = endOfValue(text, start, opening, meaning);
      }
    }
    equals = text.indexOf('=', Math.max(start, kept));
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

/** Parts of paths and of routes in a fragment, `/reset-password/`, `#/verify/`, that are followed by what lets somebody in. */
const SECRET_PART =
  /^[#!]{0,2}(?:[\w-]{0,30}(?:token|passw(?:or)?d|passwort|passcode|secret|jwt|api[-_]?key|magic(?:[-_]?link)?|otp|reset|recover|recovery|invite|invitation|unsubscribe|verify|verification|activate|activation|(?:log|sign)[-_]?in[-_]?link)s?|(?:confirm|verify|activate|reset|recover|validate)(?:[-_]?(?:e?-?mail|account|user|registration|sign-?up|login|address))?|(?:e?-?mail|account|registration)[-_]?confirm(?:ation)?)$/i;
const PART_CHARACTERS_MAX = 48;
/** What may stand between: whose it is, as in `/reset/MQ/TOKEN`. */
const BETWEEN_CHARACTERS_MAX = 12;
const PART_VALUE = /^[\w~.%+=-]{16,}/;
const PART_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Words of a title that stand in addresses are joined: `reset-your-iphone-15`. */
const PART_TOKEN = /(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])[0-9A-Za-z]{16,}/;
const PART_MIXED = /^(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[\w~.%+=-]{20,}$/;

/** Replaces parts of paths that follow one which says that they let somebody in, as the value of a parameter of such a name. */
export function redactPaths(text: string): string {
  const parts = text.split('/');
  let isFound = false;
  const clean = parts.map((part, at) => {
    const [before = '', between = ''] = [parts[at - 2], parts[at - 1]];
    if (!isSecretPart(between) && !(between.length <= BETWEEN_CHARACTERS_MAX && isSecretPart(before))) return part;
    const [value = ''] = PART_VALUE.exec(part) ?? [];
    if (!PART_UUID.test(value) && !PART_TOKEN.test(value) && !PART_MIXED.test(value)) return part;
    isFound = true;
    return REDACTED + part.slice(value.length);
  });
  return isFound ? clean.join('/') : text;
}

const isSecretPart = (part: string): boolean => part.length <= PART_CHARACTERS_MAX && SECRET_PART.test(part);

const PUNCTUATION = /[)\],.;:]+$/;

/** Among blanks a word may say what is expected there: `password = required`, `phone = iPhone`. */
function isPlainWord({ secret, opens }: KeyMeaning, value: string): boolean {
  return (
    (secret !== null && WORDS.test(value.replace(PUNCTUATION, ''))) || (opens === 'phone' && !looksLikePhone(value))
  );
}

/** Before blanks, and what closes the quotes around a name. */
function endOfName(text: string, sign: number, least: number): number {
  if (isNameCode(text.charCodeAt(sign - 1))) return sign;
  let end = sign;
  while (end > least && sign - end < BLANKS_MAX && isBlank(text.charCodeAt(end - 1))) end -= 1;
  const quoted = end;
  while (end > least && quoted - end < QUOTES_MAX && isQuote(text.charCodeAt(end - 1))) end -= 1;
  return end;
}

/** Behind `=`, `==` and `=>`. */
function endOfSign(text: string, equals: number): number {
  let end = equals + 1;
  while (text.charCodeAt(end) === EQUALS) end += 1;
  return text.charCodeAt(end) === GREATER ? end + 1 : end;
}

function blanksAt(text: string, from: number): number {
  let end = from;
  while (end - from < BLANKS_MAX && isBlank(text.charCodeAt(end))) end += 1;
  return end - from;
}

function openingAt(text: string, at: number): string {
  if (!isQuote(text.charCodeAt(at))) return '';
  OPENING.lastIndex = at;
  return OPENING.exec(text)?.[0] ?? '';
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
const isQuote = (code: number): boolean =>
  code === BACKSLASH || code === DOUBLE_QUOTE || code === SINGLE_QUOTE || code === BACKTICK;

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

function endOfValue(text: string, start: number, opening: string, { secret }: KeyMeaning): number {
  const quoted = opening === '' ? -1 : endOfQuoted(text, start, opening);
  if (quoted >= 0) return quoted;
  VALUE_END.lastIndex = start;
  let end = VALUE_END.exec(text)?.index ?? text.length;
  if (end === start || (secret !== 'secret' && secret !== 'secret_field')) return end;
  for (MORE.lastIndex = end; MORE.test(text); ) end = MORE.lastIndex;
  return end;
}

/** Where the quote that opened a value is there again; an escaped one ends at the next backslash. -1: nowhere. */
function endOfQuoted(text: string, start: number, opening: string): number {
  const quote = opening.charCodeAt(opening.length - 1);
  const isEscaped = opening.charCodeAt(0) === BACKSLASH;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote || (isEscaped && code === BACKSLASH)) return at;
    if (code === BACKSLASH) at += 1;
  }
  return -1;
}

/** A quote, with the backslashes of the texts that JSON was put into. */
const QUOTE = String.raw`\\{0,8}["']`;
const SPACE = String.raw`(?:\s|\+){0,4}`;
const MEMBER_NAME = String.raw`[\p{L}\p{N}_$. \-[\]()]{1,80}`;
/** In the literals of JavaScript, and in what logs make of objects. */
const BARE_NAME = String.raw`(?<=(?:^|[{,])\s{0,8})[\p{L}\p{N}_$]{1,80}`;

/**
 * What a text holds from its opening quote on to the closing one. Within quotes that were escaped themselves, those of the text
 * have more backslashes than these.
 */
function quotedBy(quote: string, group: string): string {
  const plain = String.raw`${quote}(?:[^${quote}\\]|\\[^])*`;
  const inside = String.raw`(?:[^${quote}\\]|\\+(?![${quote}\\])|(?!\k<${group}>${quote})\\+${quote})*`;
  return String.raw`${plain}|(?<${group}>\\{1,8})${quote}${inside}`;
}

const memberText = (group: string): string => `${quotedBy('"', `${group}Double`)}|${quotedBy("'", `${group}Single`)}`;
const MEMBER_NUMBER = String.raw`\d[\d.]*`;
/** The name of a member, up to its value: where that says nothing, more members may be within the value. */
const MEMBER = new RegExp(
  String.raw`(?<=${QUOTE})(?<name>${MEMBER_NAME})${QUOTE}${SPACE}:${SPACE}(?=[[{\d"'\\])|(?<bare>${BARE_NAME})\s{0,4}:\s{0,4}(?=["'\\])`,
  'giu',
);
const VALUE = new RegExp(`${memberText('of')}|${MEMBER_NUMBER}`, 'uy');
const TOKEN = new RegExp(
  String.raw`(?<value>${memberText('in')}|${MEMBER_NUMBER})(?<close>${QUOTE})?(?<colon>${SPACE}:)?|[[\]{}]`,
  'gu',
);
const OPENED = /^[\\"']*/;

/**
 * Replaces the values of members whose names say that they identify a person or are secrets, in a text that holds an object
 * among other things: JSON in a log line, a URL, or cut off, or as JavaScript or Python write it. With `anonymous` also those
 * that identify a visitor. Of a list or an object under such a name, what is in it.
 */
export function redactMembers(text: string, anonymous: boolean, budget: WorkBudget): string {
  let clean = '';
  let kept = 0;
  const redact = (written: string, start: number): void => {
    const value = written.replace(OPENED, '');
    clean += text.slice(kept, start + written.length - value.length) + (value === written ? '0' : REDACTED);
    kept = start + written.length;
  };
  MEMBER.lastIndex = 0;
  for (let member = MEMBER.exec(text); member !== null; member = MEMBER.exec(text)) {
    const { name, bare } = member.groups as Record<string, string | undefined>;
    const meaning = keyMeaning(name ?? bare ?? '', budget);
    if (meaning.secret === null && meaning.removal === 'never') continue;
    const start = MEMBER.lastIndex;
    const sign = text.charAt(start);
    if (sign === '[' || sign === '{') {
      if (!saysOfMembers(meaning, anonymous)) continue;
      MEMBER.lastIndex = redactWithin(text, start, { meaning, anonymous, budget, redact });
    } else {
      VALUE.lastIndex = start;
      const written = VALUE.exec(text)?.[0] ?? '';
      if (!isRedacted(meaning, written.replace(OPENED, ''), anonymous)) continue;
      redact(written, start);
      MEMBER.lastIndex = kept;
    }
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

/** Whether what a list or an object holds is what its name says; else its members are judged by their own names alone. */
function saysOfMembers({ secret, removal, opens }: KeyMeaning, anonymous: boolean): boolean {
  if (secret !== null || opens === 'phone') return true;
  if (opens !== 'plain') return false;
  return removal === 'always' || removal === 'if_bare_phone' || (anonymous && removal !== 'never');
}

interface Container {
  meaning: KeyMeaning;
  anonymous: boolean;
  budget: WorkBudget;
  redact(written: string, start: number): void;
}

/** Judges each value of a list or an object by its own name and by that of what it is in; where the whole ends. */
function redactWithin(text: string, start: number, { meaning, anonymous, budget, redact }: Container): number {
  const open: KeyMeaning[] = [];
  let name: string | null = null;
  TOKEN.lastIndex = start;
  for (let token = TOKEN.exec(text); token !== null; token = TOKEN.exec(text)) {
    const { value: written, colon } = token.groups as Record<string, string | undefined>;
    if (written === undefined) {
      if (token[0] === '[' || token[0] === '{') {
        const own: KeyMeaning | null = name === null ? null : keyMeaning(name, budget);
        const saysItself = own !== null && saysOfMembers(own, anonymous);
        open.push(saysItself ? own : (open.at(-1) ?? meaning));
        if (saysItself) name = null;
      } else open.pop();
      if (open.length === 0) return TOKEN.lastIndex;
      continue;
    }
    const value = written.replace(OPENED, '');
    if (colon !== undefined) name = value;
    else if (
      isRedactedWithin(open.at(-1) ?? meaning, name, value, anonymous) ||
      (name !== null && isRedacted(keyMeaning(name, budget), value, anonymous))
    )
      redact(written, token.index);
  }
  return text.length;
}

/** Whether a value is what the name of the list or object around it says; `name` is its own, in an object. */
function isRedactedWithin(meaning: KeyMeaning, name: string | null, value: string, anonymous: boolean): boolean {
  const { secret, isPlural, opens, removal } = meaning;
  if (name === null) return isRedacted(isPlural ? { ...meaning, isPlural: false } : meaning, value, anonymous);
  if (secret === 'secret' && !isPlural) return value.trim() !== '';
  if (secret !== null && isPlural) return isSecret('secret_field', value);
  if (secret !== null) return holdsSecret(secret, comparableForm(name)) && isSecret(heldSecret(secret), value);
  return opens === 'phone' ? looksLikePhone(value) : removal === 'always' && value !== '';
}

/** What `normalise_text.ts` looks for before the colon of a line `name: value`. */
const HEADER =
  /(?<![\p{L}\p{N}_$.-])(?<name>[\w-]{0,40}(?:authorization|passw(?:or)?[dt]|kennwort|pwd|token|secret|key|signature|credentials))\s?:[ \t]{0,3}["'`]?(?<value>[^\s"'`<>,;\\{}[\]]+)(?<more>[ \t]{1,2}[^\s"'`<>,;\\{}[\]]+)?/giu;
const AUTHORIZATION = /authorization$/i;
const SCHEME = /^[a-z][a-z-]{1,19}$/i;
const PASSWORD = /^(?=.*\d)(?!.*:\/\/).{6,}$/;

/** Replaces secrets on lines as headers and logs have them: `X-Api-Key: …`, `Authorization: Token …`, `password: …`. */
export function redactHeaders(text: string, budget: WorkBudget): string {
  return text.replace(HEADER, (line: string, name: string, value: string, more: string | undefined) => {
    const isBehindScheme = more !== undefined && AUTHORIZATION.test(name) && SCHEME.test(value);
    const said = isBehindScheme ? more.trim() : value;
    const { secret } = keyMeaning(name, budget);
    if (secret === 'secret' || secret === 'secret_field' ? !PASSWORD.test(said) : !isLong(secret, said)) return line;
    const end = isBehindScheme || more === undefined ? line.length : line.length - more.length;
    return line.slice(0, end - said.length) + REDACTED + line.slice(end);
  });
}

const isLong = (secret: KeyMeaning['secret'], value: string): boolean =>
  (secret === 'secret_text' || secret === 'secret_long') && isSecret('secret_long', value);

const TAG =
  /<(?<name>[\p{L}_][\p{L}\p{N}_:.-]{0,60})(?:\s[^<>]{0,300})?>(?:\s{0,8}<!\[CDATA\[)?(?<value>[^<\]]{1,500})(?=(?:\]\]>\s{0,8})?<\/)/gu;
const NAMESPACE = /^.*:/;
/** Shorter names of people and addresses are rather HTML's: `<em>`. */
const TAG_CHARACTERS_MIN = 5;
const HTML_TAG = /^address$/i;

/** Replaces what tags hold whose names say that it identifies a person or is a secret: `<password>…</password>`. */
export function redactTags(text: string, anonymous: boolean, budget: WorkBudget): string {
  return text.replace(TAG, (element: string, name: string, value: string) => {
    const bare = name.replace(NAMESPACE, '');
    const meaning = keyMeaning(bare, budget);
    const isHtml = meaning.removal === 'always' && (bare.length < TAG_CHARACTERS_MIN || HTML_TAG.test(bare));
    if (isHtml || !isRedacted(meaning, value.trim(), anonymous)) return element;
    return element.slice(0, element.length - value.length) + REDACTED;
  });
}
