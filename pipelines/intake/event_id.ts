// The id of an event: the sender's, or a digest of what it says.
import type { Found } from '#pipelines/privacy/collect_identifiers.ts';
import { hmacSha256, pseudonym } from '#pipelines/privacy/hash_identifiers.ts';
import { networkOf } from '#pipelines/privacy/ip_addresses.ts';
import { detached, idWorkBudget, type WorkBudget } from '#pipelines/privacy/normalise_text.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import type { Event } from '#schemas/event.ts';
import type { Device, IntakeRequest, SentEvent } from './call.ts';
import { readShortText } from './field_rules.ts';
import { canonicalJson } from './json_text.ts';
import { readForeignTime } from './timestamp.ts';

const UUID_CHARACTERS = 36;
const HYPHEN = 0x2d;
/** What a position of a UUID holds, by character code: 1 a digit or small letter, 2 a capital. */
const HEX = new Uint8Array(128);
for (const code of Buffer.from('0123456789abcdef')) HEX[code] = 1;
for (const code of Buffer.from('ABCDEF')) HEX[code] = 2;

/** A well-formed UUID in lower case, or null. */
export function uuidOrNull(text: string): string | null {
  return text.length === UUID_CHARACTERS ? lowerUuid(text) : null;
}

/** A loop, as a regular expression costs three times as much on every event. */
function lowerUuid(text: string): string | null {
  let hasCapital = false;
  for (let at = 0; at < UUID_CHARACTERS; at += 1) {
    const code = text.charCodeAt(at);
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (code !== HYPHEN) return null;
      continue;
    }
    const kind = HEX[code] ?? 0;
    if (kind === 0) return null;
    hasCapital ||= kind === 2;
  }
  return hasCapital ? text.toLowerCase() : text;
}

/** An id that names an event, as it is stored: a well-formed UUID in lower case. */
export function sentId(text: string): string {
  const trimmed = text.trim();
  return uuidOrNull(trimmed) ?? trimmed;
}

/**
 * The sent uuid as event_id: a well-formed UUID in lower case, one that holds personal text as a keyed hash; or null.
 *
 * @param isEngageEvent The event was made here of what was shown to a visitor. Nobody else's has an id as those have.
 */
export function readUuid(
  sent: unknown,
  secret: Buffer,
  countries: readonly string[],
  budget?: WorkBudget,
  isEngageEvent = false,
): string | null {
  const whole = typeof sent === 'string' ? uuidOrNull(sent) : null;
  if (whole !== null) return whole;
  const uuid = readShortText(sent);
  if (uuid === null) return null;
  const trimmed = uuidOrNull(uuid);
  if (trimmed !== null) return trimmed;
  if (isShowingEventId(uuid)) return isEngageEvent ? uuid : pseudonym(uuid, secret);
  return holdsPersonalText(uuid, countries, idWorkBudget(budget)) ? pseudonym(uuid, secret) : uuid;
}

const SECOND_MS = 1000;

/**
 * Whether an event has no id and says so little that another may well say the same: its time has no fraction of a second, and it
 * names no visitor, order or customer, as a till's sales of one price.
 */
export function isIndistinct(
  { uuid, distinctId, sentTimestamp }: SentEvent,
  { identifiers, further }: Pick<Found, 'identifiers' | 'further'>,
  orderId: string | null,
): boolean {
  if (uuid !== null || distinctId !== null || orderId !== null || sentTimestamp === null) return false;
  if (identifiers !== null || further.length > 0) return false;
  return (readForeignTime(sentTimestamp) ?? 0) % SECOND_MS === 0;
}

/**
 * The event's event_id: what it came with, else a digest if it says when it happened, else a new one.
 *
 * @param isIndistinct By a digest others would be copies of it.
 */
export function eventIdOf(sent: SentEvent, device: Device, isIndistinct: boolean, call: IntakeRequest): string {
  if (sent.uuid !== null) return sent.uuid;
  const { sentTimestamp } = sent;
  if (sentTimestamp === null || isIndistinct) return call.context.randomEventId();
  const sender = sent.distinctId ?? `${device.ip === null ? '' : networkOf(device.ip)} ${device.userAgent ?? ''}`;
  const facts = [call.context.site.site_id, sender, sent.name, sentTimestamp, sent.properties];
  const first = digestId(canonicalJson(facts), call.context.identitySecret);
  const occurrence = call.occurrences.get(first) ?? 0;
  call.occurrences.set(first, occurrence + 1);
  return occurrence === 0 ? first : digestId(canonicalJson([first, occurrence]), call.context.identitySecret);
}

/**
 * A digest in the form of a UUID of version 8 (RFC 9562). Keyed, because from a bare one an e-mail address or phone
 * number among the properties could be guessed.
 */
export function digestId(text: string, secret: Buffer): string {
  const bytes = hmacSha256(secret, text).subarray(0, 16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x80;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** An event whose id an event of another name had before: one of the two will not count. */
export interface ReusedId {
  /** The event's place among those that were taken. */
  at: number;
  /** What the event before is called. */
  before: string;
}

const IDS_MAX = 20_000;
const NONE_REUSED: readonly ReusedId[] = [];

/**
 * Tells of each request's events which have the id of another event, by the names: an id is one event's, and what a sender calls
 * otherwise under it is no copy. Remembers the request's own ids, and beyond it the last of those that are no UUIDs: an order's
 * number is what senders give to several events by mistake. More go unseen where several edges take them.
 */
export function createIdMemory(idsMax = IDS_MAX): (events: readonly Event[]) => readonly ReusedId[] {
  const names = new Map<string, string>();
  return (events) => {
    // Nearly all requests have UUIDs alone, and none of them twice.
    if (areDifferentUuids(events)) return NONE_REUSED;
    const reused: ReusedId[] = [];
    const ofRequest = new Map<string, string>();
    for (const [at, { site_id: siteId, event_id: eventId, event }] of events.entries()) {
      const isUuid = uuidOrNull(eventId) !== null;
      const key = isUuid ? eventId : `${siteId}\n${eventId}`;
      const known = isUuid ? ofRequest : names;
      const before = known.get(key);
      if (before === undefined && isUuid) ofRequest.set(key, event);
      else if (before === undefined) names.set(detached(key), detached(event));
      else if (before !== event) reused.push({ at, before });
      if (names.size > idsMax) names.delete(names.keys().next().value ?? '');
    }
    return reused;
  };
}

/** What the last twelve digits of a UUID, the most random ones of any version, make as a number that is not 0. */
function tailOf(uuid: string): number {
  let tail = 0;
  for (let at = 24; at < UUID_CHARACTERS; at += 1) tail = Math.imul(tail, 31) + uuid.charCodeAt(at);
  return tail | 1;
}

const SLOTS = 256;
const SLOTS_PER_EVENT = 4;
/** Beyond it they were chosen to meet. */
const TRIES_MAX = 32;
const tails = new Int32Array(SLOTS);

/** Whether no id can occur twice, by the ends of UUIDs in open addressing: a map of texts costs several times as much. */
function areDifferentUuids(events: readonly Event[]): boolean {
  let slots = tails.fill(0);
  while (slots.length < events.length * SLOTS_PER_EVENT) slots = new Int32Array(slots.length * 2);
  for (const { event_id: id } of events) {
    if (uuidOrNull(id) === null) return false;
    const tail = tailOf(id);
    let slot = (tail ^ (tail >>> 15)) & (slots.length - 1);
    for (let tries = 0; slots[slot] !== 0; tries += 1) {
      if (slots[slot] === tail || tries === TRIES_MAX) return false;
      slot = (slot + 1) & (slots.length - 1);
    }
    slots[slot] = tail;
  }
  return true;
}

const SHOWING_CHARACTERS = 36;
const SHOWING = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:(?:survey|promo|form):/i;

/** Whether a text begins as the id of an event of a showing does (`showingEventId`). */
function isShowingEventId(text: string): boolean {
  return text.charAt(SHOWING_CHARACTERS) === ':' && SHOWING.test(text);
}
