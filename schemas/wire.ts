// Bytes of a record on Kafka: the Confluent header before an Avro body, Avro's variable-length integers, and the partition of a key.

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

/** Reads one string. */
export function readString(cursor: Cursor): string {
  const length = readLong(cursor);
  const start = cursor.at;
  const end = start + length;
  if (length < 0 || end > cursor.buffer.length) throw new MalformedError('string past the end');
  cursor.at = end;
  return cursor.buffer.toString('utf8', start, end);
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
