// A body's envelope and events by its bytes: where the fields of usual events stand, and the others parsed.

import { isAscii, isUtf8 } from 'node:buffer';
import type { Stands } from '#pipelines/privacy/redact_text.ts';
import { readSentAt } from '../timestamp.ts';
import {
  DEPTH_MAX,
  endOfText,
  hadFewDigits,
  hashed,
  holds,
  type KnownName,
  knownName,
  NAME_SEED,
  QUOTE,
  wasOwnUuid,
  wasPlain,
} from './text_signs.ts';

/** Where a text stands in the body, without its quotes. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** A text of the properties that `redactText` has to see. */
export interface UnclearText extends TextSpan {
  readonly stands: Stands;
  readonly hasFewDigits: boolean;
}

/** An event that is JSON and may be plain: where its fields stand in the body. */
export class ScannedEvent {
  event: TextSpan | null = null;
  /** `scanText` would say that its name holds nothing to look at. */
  hasPlainName = false;
  uuid: TextSpan | null = null;
  /** Its uuid is one as it is stored, and certainly no placeholder. */
  hasOwnUuid = false;
  distinct_id: TextSpan | null = null;
  timestamp: TextSpan | null = null;
  /** With the brackets. */
  properties: TextSpan | null = null;
  /** White space stands between its tokens. */
  isSpaced = false;
  value: TextSpan | null = null;
  currency: TextSpan | null = null;
  order_id: TextSpan | null = null;
  /** From the first member of the properties that may say something of consent to the last. */
  consent: TextSpan | null = null;
  unclear: UnclearText[] | null = null;
  /** Values within the properties. */
  values = 0;
  /** The bits of all names within them. */
  names = 0;
  private readonly text: BodyText;
  private readonly start: number;
  private end = 0;

  constructor(text: BodyText, start: number) {
    this.text = text;
    this.start = start;
  }

  endAt(end: number): void {
    this.end = end;
  }

  of({ start, end }: TextSpan): string {
    return this.text.slice(start, end);
  }

  /** Whether these bytes stand there. */
  has({ start, end }: TextSpan, bytes: Buffer): boolean {
    return holds(this.text.body, start, end, bytes);
  }

  /** The event as the parser has it. */
  parsed(): unknown {
    return JSON.parse(this.text.slice(this.start, this.end));
  }
}

/** A body in UTF-8 as texts of its parts. */
class BodyText {
  readonly body: Buffer;
  private readonly ascii: string | null;

  constructor(body: Buffer) {
    this.body = body;
    this.ascii = isAscii(body) ? body.toString('latin1') : null;
  }

  slice(start: number, end: number): string {
    return this.ascii === null ? this.body.toString('utf8', start, end) : this.ascii.substring(start, end);
  }
}

export interface ScannedBody {
  ok: true;
  /** Each a ScannedEvent, or parsed. */
  events: unknown[];
  sentAtMs: number | null;
}

const [TAB, LINE, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [COMMA, COLON, MINUS, POINT, ZERO, NINE, BACKSLASH] = [0x2c, 0x3a, 0x2d, 0x2e, 0x30, 0x39, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [TRUE, FALSE, NULL] = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')];
const [EVENTS, SENT_AT] = [Buffer.from('events'), Buffer.from('sent_at')];
const [EVENT, UUID, DISTINCT_ID] = [Buffer.from('event'), Buffer.from('uuid'), Buffer.from('distinct_id')];
const [TIMESTAMP, PROPERTIES] = [Buffer.from('timestamp'), Buffer.from('properties')];
/** Beyond it an event is no usual one. */
const VALUES_MAX = 500;
/** A number with so many digits is written by JavaScript as it was, and is no card's. */
const INTEGER_DIGITS_MAX = 12;
const DECIMAL_DIGITS_MAX = 9;
const FRACTION_DIGITS_MAX = 6;
/** Fewer than the least phone number's. */
const ANSWER_DIGITS_MAX = 6;

/**
 * Reads a body of `{"sent_at":…,"events":[…]}` with 1 to `eventsMax` events, members in any order; null where it is something
 * else, or no JSON: that is for the careful path to say. Events that are not usual ones come parsed.
 */
export function scanBody(body: Buffer, eventsMax: number): ScannedBody | null {
  if (!isUtf8(body)) return null;
  const text = new BodyText(body);
  let at = skipSpace(body, 0);
  if (body[at++] !== OPEN_OBJECT) return null;
  let events: unknown[] | null = null;
  let sentAt: TextSpan | null = null;
  for (;;) {
    at = skipSpace(body, at);
    if (body[at] !== QUOTE) return null;
    const name = at + 1;
    const end = endOfText(body, name);
    if (end < 0) return null;
    at = skipSpace(body, end + 1);
    if (body[at++] !== COLON) return null;
    at = skipSpace(body, at);
    if (events === null && holds(body, name, end, EVENTS)) {
      events = [];
      at = scanEvents(body, at, text, eventsMax, events);
    } else if (sentAt === null && holds(body, name, end, SENT_AT)) {
      const start = at;
      at = endOfValue(body, at);
      sentAt = { start, end: at };
    } else return null;
    if (at < 0) return null;
    at = skipSpace(body, at);
    const next = body[at++];
    if (next === CLOSE_OBJECT) break;
    if (next !== COMMA) return null;
  }
  if (events === null || skipSpace(body, at) !== body.length) return null;
  const said = sentAt === null ? undefined : parsedAt(text, sentAt.start, sentAt.end);
  return said === NOT_JSON ? null : { ok: true, events, sentAtMs: readSentAt(said) };
}

function scanEvents(body: Buffer, start: number, text: BodyText, eventsMax: number, events: unknown[]): number {
  if (body[start] !== OPEN_LIST) return -1;
  let at = start + 1;
  for (;;) {
    at = skipSpace(body, at);
    if (body[at] !== OPEN_OBJECT || events.length === eventsMax) return -1;
    const event = new ScannedEvent(text, at);
    let end = scanEvent(body, at, event);
    if (end < 0) {
      end = endOfValue(body, at);
      const parsed = end < 0 ? NOT_JSON : parsedAt(text, at, end);
      if (parsed === NOT_JSON) return -1;
      events.push(parsed);
    } else {
      event.endAt(end);
      events.push(event);
    }
    at = skipSpace(body, end);
    const next = body[at++];
    if (next === CLOSE_LIST) return at;
    if (next !== COMMA) return -1;
  }
}

const NOT_JSON = Symbol('not JSON');

function parsedAt(text: BodyText, start: number, end: number): unknown {
  try {
    return JSON.parse(text.slice(start, end));
  } catch {
    return NOT_JSON;
  }
}

/** Behind the value that begins here by its brackets and quotes alone; -1 where these do not close. */
function endOfValue(body: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < body.length; at += 1) {
    const byte = body[at] as number;
    if (byte === QUOTE) {
      for (at += 1; at < body.length && body[at] !== QUOTE; at += 1) if (body[at] === BACKSLASH) at += 1;
      if (depth === 0) return at < body.length ? at + 1 : -1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && byte === COMMA) return at;
  }
  return -1;
}

function skipSpace(body: Buffer, start: number): number {
  let at = start;
  for (let byte = body[at]; byte === SPACE || byte === LINE || byte === RETURN || byte === TAB; byte = body[at])
    at += 1;
  return at;
}

/** Behind the event that begins here with a bracket; -1 where it is no usual one. */
function scanEvent(body: Buffer, start: number, event: ScannedEvent): number {
  let at = start + 1;
  for (;;) {
    at = skipSpace(body, at);
    if (body[at] !== QUOTE) return -1;
    const name = at + 1;
    const end = endOfText(body, name);
    if (end < 0) return -1;
    at = skipSpace(body, end + 1);
    if (body[at++] !== COLON) return -1;
    at = skipSpace(body, at);
    if (event.properties === null && holds(body, name, end, PROPERTIES)) {
      const from = at;
      if (body[at] !== OPEN_OBJECT) return -1;
      at = scanObject(body, at, 1, event);
      if (at < 0) return -1;
      event.properties = { start: from, end: at };
    } else {
      if (body[at] !== QUOTE) return -1;
      const textEnd = endOfText(body, at + 1);
      if (textEnd < 0 || !putField(body, name, end, event, { start: at + 1, end: textEnd })) return -1;
      at = textEnd + 1;
    }
    at = skipSpace(body, at);
    const next = body[at++];
    // Without an id it gets one by what it is, which the careful path reads.
    if (next === CLOSE_OBJECT) return event.properties === null || event.uuid === null ? -1 : at;
    if (next !== COMMA) return -1;
  }
}

/** Keeps the text that was read last as the field that is named so; false where there is no such field, or it stands there twice. */
function putField(body: Buffer, start: number, end: number, event: ScannedEvent, text: TextSpan): boolean {
  switch (end - start) {
    case EVENT.length:
      if (event.event !== null || !holds(body, start, end, EVENT)) return false;
      event.event = text;
      event.hasPlainName = wasPlain();
      return true;
    case UUID.length:
      if (event.uuid !== null || !holds(body, start, end, UUID)) return false;
      event.uuid = text;
      event.hasOwnUuid = wasOwnUuid();
      return true;
    case DISTINCT_ID.length:
      if (event.distinct_id !== null || !holds(body, start, end, DISTINCT_ID)) return false;
      event.distinct_id = text;
      return true;
    case TIMESTAMP.length:
      if (event.timestamp !== null || !holds(body, start, end, TIMESTAMP)) return false;
      event.timestamp = text;
      return true;
    default:
      return false;
  }
}

/** Tells objects apart, so that a name that stands twice in one is seen. */
let objects = 0;

/** Behind the object that begins here; -1 where it, or something in it, is no usual one. */
function scanObject(body: Buffer, start: number, depth: number, event: ScannedEvent): number {
  if (depth > DEPTH_MAX) return -1;
  const object = ++objects;
  let at = behindSpace(body, start + 1, event);
  if (body[at] === CLOSE_OBJECT) return at + 1;
  for (;;) {
    if (body[at] !== QUOTE) return -1;
    const nameStart = at + 1;
    let hash = NAME_SEED;
    for (at = nameStart; ; at += 1) {
      const byte = body[at];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < SPACE || byte > 0x7e || byte === BACKSLASH) return -1;
      hash = hashed(hash, byte);
    }
    const name = knownName(body, nameStart, at, hash);
    if (name === null || name.seenIn[depth] === object) return -1;
    name.seenIn[depth] = object;
    event.names |= name.bit;
    at = behindSpace(body, at + 1, event);
    if (body[at] !== COLON) return -1;
    at = scanMember(body, behindSpace(body, at + 1, event), depth, name, event);
    if (at < 0) return -1;
    if (name.saysConsent && depth === 1) event.consent = { start: event.consent?.start ?? nameStart - 1, end: at };
    at = behindSpace(body, at, event);
    const next = body[at];
    if (next === CLOSE_OBJECT) return at + 1;
    if (next !== COMMA) return -1;
    at = behindSpace(body, at + 1, event);
  }
}

function behindSpace(body: Buffer, at: number, event: ScannedEvent): number {
  const byte = body[at] as number;
  if (byte > SPACE) return at;
  event.isSpaced = true;
  return skipSpace(body, at);
}

function scanMember(body: Buffer, start: number, depth: number, name: KnownName, event: ScannedEvent): number {
  const byte = body[start];
  const { kind } = name;
  if (kind === 'answer' || kind === 'value') {
    if (++event.values > VALUES_MAX) return -1;
    const end = endOfNumber(body, start, ANSWER_DIGITS_MAX);
    if (end >= 0 && kind === 'value' && depth === 1) event.value = { start, end };
    return end;
  }
  const end = scanValue(body, start, depth, name.stands, event);
  if (kind === 'any' || depth > 1 || end < 0) return end;
  // Of anything else than a text it is for the careful path to say what it means.
  if (byte !== QUOTE) return -1;
  event[kind] = { start: start + 1, end: end - 1 };
  return end;
}

function scanValue(body: Buffer, start: number, depth: number, stands: Stands, event: ScannedEvent): number {
  if (++event.values > VALUES_MAX) return -1;
  switch (body[start] ?? 0) {
    case QUOTE:
      return scanText(body, start + 1, stands, event);
    case OPEN_OBJECT:
      return scanObject(body, start, depth + 1, event);
    case OPEN_LIST:
      return scanList(body, start, depth, stands, event);
    case TRUE[0]:
      return endOfWord(body, start, TRUE);
    case FALSE[0]:
      return endOfWord(body, start, FALSE);
    case NULL[0]:
      return endOfWord(body, start, NULL);
    default:
      return endOfNumber(body, start, INTEGER_DIGITS_MAX);
  }
}

function scanText(body: Buffer, start: number, stands: Stands, event: ScannedEvent): number {
  const end = endOfText(body, start);
  if (end < 0) return -1;
  if (!wasPlain()) {
    const first = body[start] as number;
    // It may be JSON itself.
    if (first <= SPACE || first === OPEN_OBJECT || first === OPEN_LIST) return -1;
    event.unclear ??= [];
    event.unclear.push({ start, end, stands, hasFewDigits: hadFewDigits() });
  }
  return end + 1;
}

/** A list within a list, and a pair that may be a name and a value, are not read. */
function scanList(body: Buffer, start: number, depth: number, stands: Stands, event: ScannedEvent): number {
  let at = behindSpace(body, start + 1, event);
  if (body[at] === CLOSE_LIST) return at + 1;
  const isTextFirst = body[at] === QUOTE;
  for (let members = 1; ; members += 1) {
    if (body[at] === OPEN_LIST) return -1;
    at = scanValue(body, at, depth, stands, event);
    if (at < 0) return -1;
    at = behindSpace(body, at, event);
    const next = body[at];
    if (next === CLOSE_LIST) return members === 2 && isTextFirst ? -1 : at + 1;
    if (next !== COMMA) return -1;
    at = behindSpace(body, at + 1, event);
  }
}

function endOfWord(body: Buffer, start: number, word: Buffer): number {
  const end = start + word.length;
  return holds(body, start, end, word) ? end : -1;
}

/** Behind a number that JavaScript writes as it stands here, with so many digits before its point at the most; else -1. An exponent is not read. */
function endOfNumber(body: Buffer, start: number, digitsMax: number): number {
  const isNegative = body[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  const pointAt = endOfDigits(body, first);
  const digits = pointAt - first;
  if (digits === 0 || digits > digitsMax || (digits > 1 && body[first] === ZERO)) return -1;
  if (body[pointAt] !== POINT) return isNegative && body[first] === ZERO ? -1 : pointAt;
  const end = endOfDigits(body, pointAt + 1);
  const fraction = end - pointAt - 1;
  const isShort = fraction > 0 && fraction <= FRACTION_DIGITS_MAX && digits <= DECIMAL_DIGITS_MAX;
  return isShort && body[end - 1] !== ZERO ? end : -1;
}

function endOfDigits(body: Buffer, start: number): number {
  let at = start;
  for (let byte = body[at]; byte !== undefined && byte >= ZERO && byte <= NINE; byte = body[at]) at += 1;
  return at;
}

/** After so many bodies of a sender in a row that a look at was lost on, some are not looked at, up to so many. */
const MISSES_MIN = 4;
const SKIPPED_MAX = 32;

/**
 * Scans bodies as `scanBody` does. Where one after the other of a sender has no more usual events than others, as of one that tells who
 * its customers are with each event, it leaves most of the next ones to the careful path, so that these cost nothing more. What one
 * sends takes nothing from the others.
 *
 * @returns Scans a body of a sender, which is known by identity, such as by its key as the settings have it.
 */
export function createBodyScanner(eventsMax: number): (body: Buffer, sender: object) => ScannedBody | null {
  const looks = new WeakMap<object, { misses: number; skipped: number }>();
  return (body, sender) => {
    let look = looks.get(sender);
    if (look === undefined) {
      look = { misses: 0, skipped: 0 };
      looks.set(sender, look);
    }
    if (look.misses >= MISSES_MIN && look.skipped < Math.min(look.misses, SKIPPED_MAX)) {
      look.skipped += 1;
      return null;
    }
    look.skipped = 0;
    const scanned = scanBody(body, eventsMax);
    look.misses = scanned !== null && isMostlyUsual(scanned.events) ? 0 : look.misses + 1;
    return scanned;
  };
}

function isMostlyUsual(events: readonly unknown[]): boolean {
  let usual = 0;
  for (const event of events) if (event instanceof ScannedEvent) usual += 1;
  return usual * 2 > events.length;
}
