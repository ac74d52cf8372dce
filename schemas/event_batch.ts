import avsc from 'avsc';
import { schemaJson } from './avro.ts';
import {
  type Event,
  type EventEntry,
  eventBatch,
  eventBytesBound,
  type Person,
  type SourcePosition,
  writeEvent,
} from './event.ts';
import {
  type AvroType,
  avroType,
  type Cursor,
  endOfValue,
  longBytes,
  MalformedError,
  readLong,
  readString,
  WIRE_HEADER_BYTES,
  writeLong,
} from './wire.ts';

/**
 * EventBatch in Avro, written so that each event is an array block of its own with the block's size
 * (Avro specification: "a negative block count is followed by the block's size in bytes"). A stage reads the
 * head of each event, and passes its bytes on without decoding or encoding the rest.
 */
export const eventBatchType = avroType(schemaJson(eventBatch));
const entryType = itemsType(fieldType(eventBatchType, 'events'));
const eventType = fieldType(entryType, 'event');
const personType = fieldType(entryType, 'person');

/** Events one record may hold: above it a record is refused as malformed. */
const BATCH_EVENTS_MAX = 100_000;

/** One event of a batch: its head decoded, the rest as the bytes that were read. */
export interface EncodedEvent {
  readonly coordinate: SourcePosition | null;
  /** The person union as encoded, its branch byte included. */
  readonly personBytes: Buffer;
  readonly eventBytes: Buffer;
  readonly siteId: string;
  readonly eventId: string;
  readonly distinctId: string;
  readonly receivedAtMs: number;
}

const SCRATCH_BYTES = 64 * 1024;
let scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
const NO_PERSON = Buffer.from([0]);

/** Encodes one event's Avro bytes. */
export function encodeEvent(event: Event): Buffer {
  const end = encodeEventToScratch(event);
  return Buffer.from(scratch.subarray(0, end));
}

function encodeEventToScratch(event: Event): number {
  const bound = eventBytesBound(event);
  if (bound > scratch.length) scratch = Buffer.allocUnsafeSlow(bound * 2);
  return writeEvent(scratch, 0, event);
}

/** Encodes the person union (branch byte and record). */
export function encodePerson(person: Person): Buffer {
  return personType.toBuffer(person);
}

export function noPerson(): Buffer {
  return NO_PERSON;
}

/** Decodes a whole event. */
export function decodeEvent(bytes: Buffer): Event {
  return eventType.fromBuffer(bytes) as Event;
}

export function decodePerson(bytes: Buffer): Person | null {
  return personType.fromBuffer(bytes) as Person | null;
}

/** Decodes an entry as the destinations and the warehouse want it. */
export function decodeEntry(view: EncodedEvent): EventEntry {
  return { coordinate: view.coordinate, person: decodePerson(view.personBytes), event: decodeEvent(view.eventBytes) };
}

const IDENTITY_FIELDS = [
  'mode',
  'identify',
  'identifiers',
  'previous_distinct_id',
  'event',
  'caller',
  'historical',
] as const;
/** What identity needs of an event; the other fields are skipped, not decoded. */
export type IdentityPart = Pick<Event, (typeof IDENTITY_FIELDS)[number]>;
const identityPart = projection(eventType, IDENTITY_FIELDS);

/** Decodes only what identity needs. */
export function decodeIdentityPart(bytes: Buffer): IdentityPart {
  return identityPart.type.fromBuffer(bytes, identityPart.resolver) as IdentityPart;
}

/** When an event happened, without reading the rest: it stands behind the head and the name. Throws where the bytes are damaged. */
export function readTimestamp(eventBytes: Buffer): number {
  const cursor: Cursor = { buffer: eventBytes, at: 0 };
  const skipString = (): void => {
    const length = readLong(cursor);
    cursor.at += length;
  };
  skipString();
  skipString();
  skipString();
  readLong(cursor);
  skipString();
  return readLong(cursor);
}

const namePart = projection(eventType, ['event']);

/** Decodes only the name of an event; null where it is damaged. */
export function decodeEventName(bytes: Buffer): string | null {
  try {
    return (namePart.type.fromBuffer(bytes, namePart.resolver) as { event: string }).event;
  } catch {
    return null;
  }
}

const pastPart = projection(eventType, ['historical']);

/** Decodes only whether an event is of the past; false where it is damaged. */
export function decodeHistorical(bytes: Buffer): boolean {
  try {
    return (pastPart.type.fromBuffer(bytes, pastPart.resolver) as { historical: boolean }).historical;
  } catch {
    return false;
  }
}

function projection(
  type: AvroType,
  names: readonly string[],
): { type: AvroType; resolver: ReturnType<AvroType['createResolver']> } {
  const schema = type.schema({ exportAttrs: true }) as avsc.schema.RecordType;
  const reader = avsc.Type.forSchema({ ...schema, fields: schema.fields.filter(({ name }) => names.includes(name)) });
  return { type: reader, resolver: reader.createResolver(type) };
}

/**
 * Reads a batch's body (behind the wire header) into views over the same memory.
 * Throws MalformedError where the bytes are not an EventBatch.
 */
export function readBatch(body: Buffer): EncodedEvent[] {
  const cursor: Cursor = { buffer: body, at: 0 };
  const views: EncodedEvent[] = [];
  for (;;) {
    const count = readLong(cursor);
    if (count === 0) break;
    const blockEnd = count < 0 ? readBlockEnd(cursor) : null;
    if (views.length + Math.abs(count) > BATCH_EVENTS_MAX) throw new MalformedError('too many events');
    for (let item = Math.abs(count); item > 0; item--) views.push(readEntry(cursor, count === -1 ? blockEnd : null));
    if (blockEnd !== null && cursor.at !== blockEnd) throw new MalformedError('block of another size');
  }
  if (cursor.at !== body.length) throw new MalformedError('bytes behind the batch');
  return views;
}

function readBlockEnd(cursor: Cursor): number {
  const size = readLong(cursor);
  const end = cursor.at + size;
  if (size < 0 || end > cursor.buffer.length) throw new MalformedError('block past the end');
  return end;
}

function readEntry(cursor: Cursor, knownEnd: number | null): EncodedEvent {
  const coordinate = readCoordinate(cursor);
  const personBytes = readPersonBytes(cursor);
  const start = cursor.at;
  const siteId = readString(cursor);
  const eventId = readString(cursor);
  const distinctId = readString(cursor);
  const receivedAtMs = readLong(cursor);
  if (knownEnd !== null && cursor.at > knownEnd) throw new MalformedError('head past the block');
  cursor.at = knownEnd ?? endOfValue(eventType, cursor.buffer, start);
  const eventBytes = cursor.buffer.subarray(start, cursor.at);
  return { coordinate, personBytes, eventBytes, siteId, eventId, distinctId, receivedAtMs };
}

function readCoordinate(cursor: Cursor): SourcePosition | null {
  const branch = readLong(cursor);
  if (branch === 0) return null;
  if (branch !== 1) throw new MalformedError('unknown coordinate branch');
  return { partition: readLong(cursor), offset: readLong(cursor), index: readLong(cursor) };
}

function readPersonBytes(cursor: Cursor): Buffer {
  if (cursor.buffer[cursor.at] === 0) {
    cursor.at += 1;
    return NO_PERSON;
  }
  const start = cursor.at;
  cursor.at = endOfValue(personType, cursor.buffer, start);
  return cursor.buffer.subarray(start, cursor.at);
}

/** Bytes of a block's head where the event takes the usual two bytes to say its size: count, size, and two null branches. */
const BLOCK_HEAD_BYTES = 5;
const HEAD_BYTES_MAX = 16;

/**
 * Encodes events, with nothing attached yet, as one record value (wire header and batch) under a registered schema id: from
 * `from` on until it has `eventsMax` of them or is longer than `bytesMax`, and one at least. All are written into one buffer that
 * is used again, and copied once.
 */
export function encodeEvents(
  schemaId: number,
  events: readonly Event[],
  from: number,
  eventsMax: number,
  bytesMax: number,
): { count: number; value: Buffer } {
  scratch[0] = 0;
  scratch.writeInt32BE(schemaId, 1);
  let at = WIRE_HEADER_BYTES;
  let next = from;
  while (next < events.length && next - from < eventsMax && at < bytesMax) at = writeBlock(at, events[next++] as Event);
  scratch[at++] = 0;
  return { count: next - from, value: Buffer.from(scratch.subarray(0, at)) };
}

/** An event as an array block of its own. Its size stands before it and is known behind it: where that is unusual, the event moves. */
function writeBlock(at: number, event: Event): number {
  const start = at + BLOCK_HEAD_BYTES;
  const bound = start + eventBytesBound(event) + HEAD_BYTES_MAX;
  if (bound > scratch.length) {
    const grown = Buffer.allocUnsafeSlow(bound * 2);
    scratch.copy(grown, 0, 0, at);
    scratch = grown;
  }
  const size = writeEvent(scratch, start, event) - start;
  const headEnd = at + 3 + longBytes(size + 2);
  if (headEnd !== start) scratch.copyWithin(headEnd, start, start + size);
  let head = writeLong(scratch, at, -1);
  head = writeLong(scratch, head, size + 2);
  scratch[head++] = 0;
  scratch[head] = 0;
  return headEnd + size;
}

/** Collects entries of one batch under a registered schema id; the bytes of an event are copied once, at the end of the buffer. */
export function createBatchWriter(schemaId: number, initialBytes = 4096) {
  let buffer = Buffer.allocUnsafe(Math.max(initialBytes, WIRE_HEADER_BYTES + 1));
  buffer[0] = 0;
  buffer.writeInt32BE(schemaId, 1);
  let at = WIRE_HEADER_BYTES;
  let count = 0;

  function reserve(bytes: number): void {
    if (at + bytes + 1 <= buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(buffer.length * 2, at + bytes + 1));
    buffer.copy(grown, 0, 0, at);
    buffer = grown;
  }

  return {
    get count(): number {
      return count;
    },
    get byteLength(): number {
      return at + 1;
    },
    /** Adds an event that was encoded before, with what the stage attaches. */
    add(coordinate: SourcePosition | null, personBytes: Buffer, eventBytes: Buffer): void {
      const size = coordinateBytes(coordinate) + personBytes.length + eventBytes.length;
      reserve(size + 12);
      at = writeLong(buffer, at, -1);
      at = writeLong(buffer, at, size);
      at = writeCoordinate(buffer, at, coordinate);
      at += personBytes.copy(buffer, at);
      at += eventBytes.copy(buffer, at);
      count++;
    },
    /** The record value: wire header and body. The writer must not be used after it. */
    finish(): Buffer {
      buffer[at++] = 0;
      return buffer.subarray(0, at);
    },
  };
}

function coordinateBytes(coordinate: SourcePosition | null): number {
  if (coordinate === null) return 1;
  return 1 + longBytes(coordinate.partition) + longBytes(coordinate.offset) + longBytes(coordinate.index);
}

function writeCoordinate(buffer: Buffer, at: number, coordinate: SourcePosition | null): number {
  if (coordinate === null) return writeLong(buffer, at, 0);
  let end = writeLong(buffer, at, 1);
  end = writeLong(buffer, end, coordinate.partition);
  end = writeLong(buffer, end, coordinate.offset);
  return writeLong(buffer, end, coordinate.index);
}

function fieldType(record: AvroType, name: string): AvroType {
  const field = (record as avsc.types.RecordType).fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`no field ${name} in the schema`);
  return field.type;
}

function itemsType(array: AvroType): AvroType {
  return (array as avsc.types.ArrayType).itemsType;
}
