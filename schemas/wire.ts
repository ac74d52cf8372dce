import avsc from 'avsc';

// Bytes of a record on Kafka: the Confluent header before an Avro body, Avro's variable-length integers, the partition of a
// key, and the headers.

/** Bytes before the Avro body in the Confluent wire format: a zero byte and the schema id, big-endian. */
export const WIRE_HEADER_BYTES = 5;

type WireRead =
  | { ok: true; schemaId: number; body: Buffer }
  | { ok: false; code: 'wire_null' | 'wire_short' | 'wire_magic' };

/** Splits a record value in the Confluent wire format into schema id and Avro body (not copied). */
export function readWire(value: Buffer | null): WireRead {
  if (value === null) return { ok: false, code: 'wire_null' };
  if (value.length < WIRE_HEADER_BYTES) return { ok: false, code: 'wire_short' };
  if (value[0] !== 0) return { ok: false, code: 'wire_magic' };
  return { ok: true, schemaId: value.readInt32BE(1), body: value.subarray(WIRE_HEADER_BYTES) };
}

/** Puts the Confluent wire header before an Avro body. */
export function writeWire(schemaId: number, body: Buffer): Buffer {
  const out = Buffer.allocUnsafe(WIRE_HEADER_BYTES + body.length);
  out[0] = 0;
  out.writeInt32BE(schemaId, 1);
  body.copy(out, WIRE_HEADER_BYTES);
  return out;
}

/** Avro's variable-length zig-zag integers (Avro specification, binary encoding), for safe integers. */

/** A position in a buffer that reading moves on. */
export interface Cursor {
  readonly buffer: Buffer;
  at: number;
}

/** Thrown where bytes do not hold what the schema says; carries no content. */
export class MalformedError extends Error {
  readonly code = 'avro_malformed';
}

const LONG_BYTES_MAX = 10;

/** Reads one int or long. Throws MalformedError past the end or outside the safe integers. */
export function readLong(cursor: Cursor): number {
  const first = nextByte(cursor);
  // Halved from the start, as twice a large safe integer is none.
  let half = (first & 0x7f) >> 1;
  let factor = 64;
  let byte = first;
  for (let read = 1; byte >= 0x80; read++) {
    if (read === LONG_BYTES_MAX) throw new MalformedError('number too long');
    byte = nextByte(cursor);
    half += (byte & 0x7f) * factor;
    factor *= 128;
  }
  if (!Number.isSafeInteger(half)) throw new MalformedError('number too large');
  return (first & 1) === 0 ? half : -half - 1;
}

function nextByte(cursor: Cursor): number {
  const byte = cursor.buffer[cursor.at++];
  if (byte === undefined) throw new MalformedError('number past the end');
  return byte;
}

/** Writes one int or long at a position and returns the position behind it. */
export function writeLong(buffer: Buffer, at: number, value: number): number {
  let rest = value >= 0 ? value * 2 : -value * 2 - 1;
  let position = at;
  while (rest >= 128) {
    buffer[position++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  buffer[position++] = rest;
  return position;
}

/** How many bytes writeLong takes for a value of at least 0. */
export function longBytes(value: number): number {
  let rest = value * 2;
  let bytes = 1;
  while (rest >= 128) {
    rest = Math.floor(rest / 128);
    bytes++;
  }
  return bytes;
}

/** Moves behind one string; answers how many bytes it has. Throws MalformedError where it does not end in its buffer. */
export function skipString(cursor: Cursor): number {
  const length = readLong(cursor);
  const end = cursor.at + length;
  if (length < 0 || end > cursor.buffer.length) throw new MalformedError('string past the end');
  cursor.at = end;
  return length;
}

/** Reads one string. */
export function readString(cursor: Cursor): string {
  const length = skipString(cursor);
  return cursor.buffer.toString('utf8', cursor.at - length, cursor.at);
}

/** Partition choice as Java's default partitioner makes it: murmur2 of the key's UTF-8 bytes (Kafka's Utils.murmur2). */

const SEED = 0x9747b28c;
const MIX = 0x5bd1e995;

/** 32-bit murmur2 as Kafka computes it, as a signed integer. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  let hash = SEED ^ length;
  const blocks = length >> 2;
  for (let block = 0; block < blocks; block++) {
    const at = block * 4;
    let word =
      byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24);
    word = Math.imul(word, MIX);
    word ^= word >>> 24;
    word = Math.imul(word, MIX);
    hash = Math.imul(hash, MIX) ^ word;
  }
  return finish(mixTail(hash, bytes, blocks * 4));
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

function mixTail(hash: number, bytes: Uint8Array, from: number): number {
  const rest = bytes.length - from;
  if (rest === 0) return hash;
  let mixed = hash;
  if (rest === 3) mixed ^= byteAt(bytes, from + 2) << 16;
  if (rest >= 2) mixed ^= byteAt(bytes, from + 1) << 8;
  return Math.imul(mixed ^ byteAt(bytes, from), MIX);
}

function finish(hash: number): number {
  let mixed = hash;
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, MIX);
  mixed ^= mixed >>> 15;
  return mixed | 0;
}

/** Partition of a text key among `partitions`. */
export function partitionOf(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % partitions;
}

/** Partition of a visitor's events on events.raw and events.unique. */
export function visitorPartition(siteId: string, distinctId: string, partitions: number): number {
  return partitionOf(`${siteId}/${distinctId}`, partitions);
}

/** Partition of a person's events on events.identified. */
export function personPartition(siteId: string, personId: string, partitions: number): number {
  return partitionOf(`${siteId}/${personId}`, partitions);
}

/** Against which account a record of events.raw counts, and under which lease its events were reserved. */
export interface Reserved {
  accountId: string;
  /** Empty where nothing was reserved. */
  lease: string;
}

const ACCOUNT = 'account';
/** The name on the wire is older than the word lease. */
const LEASE = 'hold';

/** The headers of a record of events.raw. */
export function reservedHeaders(accountId: string, lease: string): Record<string, string> {
  return { [ACCOUNT]: accountId, [LEASE]: lease };
}

/** Headers of a record as a client reads them. */
export type RecordHeaders = Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;

/** Reads the headers of a record of events.raw; null where no edge has written them. */
export function readReserved(headers: RecordHeaders): Reserved | null {
  const accountId = textOf(headers[ACCOUNT]);
  return accountId === '' ? null : { accountId, lease: textOf(headers[LEASE]) };
}

/** A header's text; empty where it is not there once. */
export function textOf(value: RecordHeaders[string]): string {
  return value === undefined || Array.isArray(value) ? '' : value.toString();
}

// Where a value that an Avro schema describes ends in its bytes.

/** Compiles a schema of ours, or a writer's read from the registry. */
export function avroType(text: string): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(text));
}

export type AvroType = avsc.Type;

/** What of the library's types tells how their values are written. */
interface Shape {
  typeName: string;
  fields?: readonly { type: Shape }[];
  itemsType?: Shape;
  valuesType?: Shape;
  types?: readonly Shape[];
  underlyingType?: Shape;
  size?: number;
}

/**
 * Walks over a value without making it. The library reads on behind the end of the bytes and makes as many items as a
 * damaged list says it has, which takes minutes and all memory.
 *
 * @throws MalformedError where the bytes do not hold a value of the type, or a list has more items than bytes are left.
 */
export function assertHolds(type: AvroType, buffer: Buffer): void {
  endOfValue(type, buffer, 0);
}

/**
 * Position behind a value that begins at `at`.
 *
 * @throws MalformedError as `assertHolds` does.
 */
export function endOfValue(type: AvroType, buffer: Buffer, at: number): number {
  const cursor = { buffer, at };
  walkerOf(type as unknown as Shape)(cursor);
  return cursor.at;
}

/** Moves a cursor behind a value of one type. */
type Walker = (cursor: Cursor) => void;

const walkers = new WeakMap<Shape, Walker>();

function walkerOf(shape: Shape): Walker {
  const known = walkers.get(shape);
  if (known !== undefined) return known;
  // A type may hold itself: while it is made, what it holds finds it here.
  let made: Walker | undefined;
  walkers.set(shape, (cursor) => made?.(cursor));
  made = walkerMade(shape);
  walkers.set(shape, made);
  return made;
}

function walkerMade(shape: Shape): Walker {
  const { typeName } = shape;
  if (shape.underlyingType !== undefined) return walkerOf(shape.underlyingType);
  if (typeName === 'record') return recordWalker((shape.fields ?? []).map(({ type }) => walkerOf(type)));
  if (typeName === 'array') return itemsWalker(walkerOf(shape.itemsType as Shape));
  if (typeName === 'map') return itemsWalker(recordWalker([skipBytes, walkerOf(shape.valuesType as Shape)]));
  if (typeName.startsWith('union:')) return unionWalker((shape.types ?? []).map(walkerOf));
  if (typeName === 'string' || typeName === 'bytes') return skipBytes;
  if (typeName === 'int' || typeName === 'long' || typeName === 'enum') return readLong;
  const bytes = typeName === 'fixed' ? (shape.size ?? 0) : (BYTES[typeName] ?? 0);
  return (cursor) => skip(cursor, bytes);
}

const BYTES: Readonly<Record<string, number>> = { null: 0, boolean: 1, float: 4, double: 8 };

function recordWalker(fields: readonly Walker[]): Walker {
  return (cursor) => {
    for (const field of fields) field(cursor);
  };
}

function unionWalker(branches: readonly Walker[]): Walker {
  return (cursor) => {
    const branch = branches[readLong(cursor)];
    if (branch === undefined) throw new MalformedError('no such branch');
    branch(cursor);
  };
}

/** Blocks of items, until an empty one; a negative count is followed by the block's bytes. */
function itemsWalker(item: Walker): Walker {
  return (cursor) => {
    for (let count = readLong(cursor); count !== 0; count = readLong(cursor)) {
      if (count < 0) readLong(cursor);
      const items = Math.abs(count);
      if (items > cursor.buffer.length - cursor.at) throw new MalformedError('more items than bytes');
      for (let at = 0; at < items; at++) item(cursor);
    }
  };
}

function skipBytes(cursor: Cursor): void {
  const length = readLong(cursor);
  if (length < 0) throw new MalformedError('bytes of a negative length');
  skip(cursor, length);
}

function skip(cursor: Cursor, bytes: number): void {
  cursor.at += bytes;
  if (cursor.at > cursor.buffer.length) throw new MalformedError('value past the end');
}
