// Names of properties and events by their bytes, so that those that are seen over and over make no text.

import { CONSENT_PROPERTIES } from '#pipelines/events/consent.ts';
import { knownMeaning } from '#pipelines/privacy/key_meaning.ts';
import type { KeyMeaning, RedactionRule } from '#pipelines/privacy/key_words.ts';
import type { Stands } from '#pipelines/privacy/redact_text.ts';

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

/** Open addressing; at most a quarter of it is taken. */
let slots: (KnownName | undefined)[] = new Array(SLOTS);
let names = 0;

/** A hash of bytes, begun with 0: FNV-1a. */
export const hashed = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

/**
 * The name in the bytes where the careful path has met it and kept it in memory, and it is plain; else null.
 *
 * @param hash Of the bytes.
 */
export function knownName(body: Buffer, start: number, end: number, hash: number): KnownName | null {
  let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
  for (let known = slots[slot]; known !== undefined; known = slots[slot]) {
    if (holds(body, start, end, known.bytes)) return known;
    slot = (slot + 1) & (SLOTS - 1);
  }
  return learn(body, start, end, slot);
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
    saysConsent: CONSENT_PROPERTIES.has(text),
    seenIn: new Array(DEPTH_MAX + 1).fill(0),
  };
  if (names >= NAMES_MAX) {
    slots = new Array(SLOTS);
    names = 0;
    slots[(hashOf(known.bytes) ^ (hashOf(known.bytes) >>> 15)) & (SLOTS - 1)] = known;
  } else slots[slot] = known;
  names += 1;
  return known;
}

const hashOf = (bytes: Uint8Array): number => bytes.reduce(hashed, 0);
