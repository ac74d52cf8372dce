// What the bytes of a text say of it without a look at the text: the tables behind `isPlain`, and names of properties and events, so that
// those that are seen over and over make no text.

import { randomInt } from 'node:crypto';
import { CONSENT_PROPERTIES } from '#pipelines/events/consent.ts';
import { knownMeaning } from '#pipelines/privacy/key_meaning.ts';
import type { KeyMeaning, RedactionRule } from '#pipelines/privacy/key_words.ts';
import {
  NUMBER_DIGITS_MIN,
  SECRET_CHARACTERS_MIN,
  SECRET_MARK,
  SECRET_PATH_GAP_MAX,
  SECRET_PATH_WORD,
} from '#pipelines/privacy/normalise_text.ts';
import type { Stands } from '#pipelines/privacy/redact_text.ts';

export const QUOTE = 0x22;
const COLON = 0x3a;
const SLASH = 0x2f;
const HYPHEN = 0x2d;
const ZERO = 0x30;

/** What a byte adds to the signs of its text: 1 for a digit, SPECIAL for what may be part of something; negative: the scan stops. */
const SPECIAL = 65_536;
const STOP = -1;
const SIGNS = new Int32Array(256).fill(0, 0x20, 0x7f).fill(STOP, 0, 0x20).fill(SPECIAL, 0x80);
for (const sign of "@%+=&[{<'`") SIGNS[sign.charCodeAt(0)] = SPECIAL;
for (const digit of '0123456789') SIGNS[digit.charCodeAt(0)] = 1;
for (const sign of ['"', '\\', ':', '\x7f']) SIGNS[sign.charCodeAt(0)] = STOP;

/**
 * What the text that `endOfText` read last is. Plain: `scanText` would certainly say that it holds nothing to look at, or it is a
 * UUID. With few digits: too few for a number that countries write differently.
 */
let isPlainText = false;
let hasFewDigits = false;
let isOwnUuid = false;
export const wasPlain = (): boolean => isPlainText;
export const hadFewDigits = (): boolean => hasFewDigits;
/** Whether it is a UUID as it is stored, in lower case, and certainly no placeholder: its first digits are neither 0 nor the same. */
export const wasOwnUuid = (): boolean => isOwnUuid;

/**
 * The position of the quote that ends a text which begins at `start`; -1 where it has an escape or a control character, or
 * does not end. Says by `wasPlain` what it was.
 */
export function endOfText(body: Uint8Array, start: number): number {
  let signs = 0;
  let at = start;
  for (;;) {
    const byte = body[at] as number;
    const sign = SIGNS[byte] as number;
    if (sign >= 0) {
      signs += sign;
      at += 1;
    } else if (byte === COLON) {
      at += 1;
      // The colon of an address has a slash behind it; any other may stand behind the name of a secret.
      if (body[at] !== SLASH) signs += SPECIAL;
    } else break;
    if (at >= body.length) return -1;
  }
  if (body[at] !== QUOTE) return -1;
  hasFewDigits = signs % SPECIAL < NUMBER_DIGITS_MIN;
  isOwnUuid = false;
  isPlainText =
    signs < NUMBER_DIGITS_MIN
      ? at - start < SECRET_CHARACTERS_MIN || !mayHoldSecret(body, start, at)
      : signs < SPECIAL && isUuid(body, start, at);
  return at;
}

/** Three characters in a row, as an index: each in 5 bits, small letters as capitals, a digit as any, and all other signs as one. */
const SHIFT = 5;
const MASK = 0x7fff;
const TRIGRAM = 3;
const FOLDED = new Uint8Array(256).fill(31);
for (let letter = 1; letter <= 26; letter += 1)
  FOLDED.fill(letter, 0x60 + letter, 0x61 + letter).fill(letter, 0x40 + letter, 0x41 + letter);
for (const [at, sign] of ['-', '_', '.'].entries()) FOLDED[sign.charCodeAt(0)] = 27 + at;
FOLDED.fill(30, 0x30, 0x3a);
const mixed = (hash: number, byte: number): number => ((hash << SHIFT) | (FOLDED[byte] as number)) & MASK;

/** Three characters in a row of each text that a secret begins with, or that a path holds before one: the rarest of it. */
const [OF_SECRET, OF_PATH] = [1, 2];
const TRIGRAMS = new Uint8Array(MASK + 1);
const PATH_WORDS = textsOf(SECRET_PATH_WORD.source);
for (const word of PATH_WORDS) TRIGRAMS[[...Buffer.from(rarest(word))].reduce(mixed, 0)] = OF_PATH;
for (const mark of textsOf(SECRET_MARK.source)) TRIGRAMS[[...Buffer.from(rarest(mark))].reduce(mixed, 0)] = OF_SECRET;
/** How far behind its three characters a path's word may have the slash before what it names. */
const PATH_REACH = SECRET_PATH_GAP_MAX + Math.max(...PATH_WORDS.map(({ length }) => length));

function mayHoldSecret(body: Uint8Array, start: number, end: number): boolean {
  let hash = mixed(mixed(0, body[start] as number), body[start + 1] as number);
  let wordAt = -PATH_REACH;
  for (let at = start + TRIGRAM - 1; at < end; at += 1) {
    const byte = body[at] as number;
    if (byte === SLASH && at - wordAt < PATH_REACH) return true;
    hash = mixed(hash, byte);
    const sign = TRIGRAMS[hash];
    if (sign === OF_SECRET) return true;
    if (sign === OF_PATH) wordAt = at;
  }
  return false;
}

/** The three characters in a row with the fewest letters, which texts are made of. */
function rarest(mark: string): string {
  if (mark.length < TRIGRAM) throw new Error('a mark of a secret is too short');
  const all = Array.from({ length: mark.length - TRIGRAM + 1 }, (_, at) => mark.slice(at, at + TRIGRAM));
  const letters = (one: string): number => one.replace(/[^a-z]/gi, '').length;
  return all.reduce((best, one) => (letters(one) <= letters(best) ? one : best));
}

/** All texts that an expression of literals, classes and choices matches. Throws where there is something else in it. */
export function textsOf(source: string): string[] {
  let at = 0;
  function choices(): string[] {
    const all: string[] = [];
    let texts = [''];
    for (; at < source.length && source[at] !== ')'; ) {
      if (source[at] === '|') {
        at += 1;
        all.push(...texts);
        texts = [''];
      } else {
        const parts = part();
        texts = texts.flatMap((text) => parts.map((one) => text + one));
      }
    }
    return [...all, ...texts];
  }
  function part(): string[] {
    if (source.startsWith('(?:', at)) {
      at += 3;
      const inner = choices();
      at += 1;
      return inner;
    }
    if (source[at] === '[') {
      const end = source.indexOf(']', at);
      const signs = membersOf(source.slice(at + 1, end));
      at = end + 1;
      return signs;
    }
    if (source[at] === '\\') at += 1;
    else if (/[()*+?{}^$.\]]/.test(source[at] ?? '')) throw new Error('no literal, class or choice');
    return [source[at++] ?? ''];
  }
  return choices();
}

function membersOf(list: string): string[] {
  if (/^\^|\\/.test(list)) throw new Error('no plain class');
  return Array.from(list.matchAll(/(.)-(.)|(.)/g)).flatMap(({ 1: from, 2: to, 3: one }) => {
    if (from === undefined || to === undefined) return [one ?? ''];
    const first = from.charCodeAt(0);
    return Array.from({ length: to.charCodeAt(0) - first + 1 }, (_, more) => String.fromCharCode(first + more));
  });
}

const UUID_CHARACTERS = 36;
/** 1 for a digit or a small letter, 3 for a capital. */
const HEX = new Uint8Array(256);
for (const digit of '0123456789abcdef') HEX[digit.charCodeAt(0)] = 1;
for (const digit of 'ABCDEF') HEX[digit.charCodeAt(0)] = 3;
const VERSION_AT = 14;
const VARIANT_AT = 19;

/** Whether a text is a UUID as `isUuidText` has it. Says by `wasOwnUuid` whether it is stored as it stands. */
function isUuid(body: Uint8Array, start: number, end: number): boolean {
  if (end - start !== UUID_CHARACTERS) return false;
  let kinds = 0;
  for (let at = 0; at < UUID_CHARACTERS; at += 1) {
    const byte = body[start + at] as number;
    const isHyphen = at === 8 || at === 13 || at === 18 || at === 23;
    const kind = HEX[byte] as number;
    if (isHyphen ? byte !== HYPHEN : kind === 0) return false;
    kinds |= kind;
  }
  const version = body[start + VERSION_AT] as number;
  const variant = (body[start + VARIANT_AT] as number) | 0x20;
  if (version < 0x31 || version > 0x38) return false;
  if (variant !== 0x38 && variant !== 0x39 && variant !== 0x61 && variant !== 0x62) return false;
  isOwnUuid = kinds === 1 && body[start] !== ZERO && body[start] !== body[start + 1];
  return true;
}

/** How deep objects may be in each other. */
export const DEPTH_MAX = 4;
const NAMES_MAX = 4096;
const SLOTS = 4 * NAMES_MAX;
const NAME_BYTES_MAX = 64;

/**
 * What may stand under a name without a look at who the event is of. `answer`: a number that is too small for a phone's, as the
 * name is also that of a form's answers.
 */
type NameKind = 'any' | 'answer' | 'value' | 'currency' | 'order_id';

export interface KnownName {
  readonly bytes: Buffer;
  readonly text: string;
  readonly kind: NameKind;
  readonly stands: Stands;
  /** One of 32 bits, by which sets of names are told apart at a glance (`bitOfName`). */
  readonly bit: number;
  /** Whether a property of the name may say something of consent. */
  readonly saysConsent: boolean;
  /** By depth the object that had it last. */
  readonly seenIn: number[];
}

/** Names that the careful path reads beside what `keyMeaning` says of them. */
const READ_BY_NAME: ReadonlySet<string> = new Set(
  (
    '$action_source $is_server $lib $anon_distinct_id alias country country_code user_data $set ' +
    'webdriver $webdriver navigator.webdriver navigator __proto__'
  ).split(' '),
);
const KINDS: ReadonlyMap<string, NameKind> = new Map([
  ['value', 'value'],
  ['currency', 'currency'],
  ['order_id', 'order_id'],
]);
/** Rules that remove nothing where the site is online and the name stands in nobody's record. */
const KEPT: ReadonlySet<RedactionRule> = new Set(['never', 'in_person', 'if_anonymous', 'if_offline', 'id_if_offline']);
/** JavaScript orders those that are numbers by these. */
const NUMERAL = /^[0-9]/;

function kindOf(name: string, meaning: KeyMeaning): NameKind | null {
  if (READ_BY_NAME.has(name) || NUMERAL.test(name)) return null;
  const { removal, feeds, opens, suspicious, secret, answers } = meaning;
  if (!KEPT.has(removal) || feeds !== null || opens !== 'plain' || suspicious || secret !== null) return null;
  return KINDS.get(name) ?? (answers ? 'answer' : 'any');
}

/** Open addressing; at most a quarter of it is taken, so that nobody's names stand so far from their slots but by intent. */
const TRIES_MAX = 16;
let slots: (KnownName | undefined)[] = new Array(SLOTS);
let names = 0;

/** What a hash of a name begins with: another one in each process, so that nobody knows which names meet. */
export const NAME_SEED = randomInt(2 ** 31);

/** A hash of bytes: FNV-1a. */
export const hashed = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

/** The bit of a name: two names that have the same may be one. */
export function bitOfName(name: string): number {
  let hash = NAME_SEED;
  for (const byte of Buffer.from(name)) hash = hashed(hash, byte);
  return 1 << (hash & 31);
}

/**
 * The name in the bytes where the careful path has met it and kept it in memory, and it is plain; else null.
 *
 * @param hash Of the bytes.
 */
export function knownName(body: Buffer, start: number, end: number, hash: number): KnownName | null {
  const first = hash ^ (hash >>> 15);
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const slot = (first + tries) & (SLOTS - 1);
    const known = slots[slot];
    if (known === undefined) return learn(body, start, end, slot);
    if (holds(body, start, end, known.bytes)) return known;
  }
  return null;
}

/** Whether bytes are these. */
export function holds(body: Uint8Array, start: number, end: number, bytes: Uint8Array): boolean {
  const length = end - start;
  if (bytes.length !== length) return false;
  for (let at = 0; at < length; at += 1) if (body[start + at] !== bytes[at]) return false;
  return true;
}

function learn(body: Buffer, start: number, end: number, slot: number): KnownName | null {
  if (end - start > NAME_BYTES_MAX) return null;
  const text = body.toString('latin1', start, end);
  const meaning = knownMeaning(text);
  const kind = meaning === undefined ? null : kindOf(text, meaning);
  if (meaning === undefined || kind === null) return null;
  const known: KnownName = {
    bytes: Buffer.from(body.subarray(start, end)),
    text,
    kind,
    stands: meaning.names ?? 'text',
    bit: bitOfName(text),
    saysConsent: CONSENT_PROPERTIES.has(text),
    seenIn: new Array(DEPTH_MAX + 1).fill(0),
  };
  if (names >= NAMES_MAX) {
    slots = new Array(SLOTS);
    names = 0;
    // The object that it stands in may have had some of the names that are forgotten.
    return null;
  }
  slots[slot] = known;
  names += 1;
  return known;
}
