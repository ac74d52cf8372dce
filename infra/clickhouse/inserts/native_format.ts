// ClickHouse's Native format: values of columns, one after the other.
import { type Cursor, skipString } from '#schemas/wire.ts';

const INITIAL_BYTES = 4096;
/** Below this a loop is faster than the call that copies. */
const SHORT_BYTES = 32;
/** The longest length, of 32 bits, seven to a byte. */
const LENGTH_BYTES_MAX = 5;
const TWO_TO_32 = 2 ** 32;

/** The values of one column in ClickHouse's Native format, one after the other, in memory that is reused. */
export class ColumnStream {
  private buffer: Buffer;
  private end = 0;
  private savedEnd = 0;

  constructor(bytes = INITIAL_BYTES) {
    this.buffer = Buffer.allocUnsafeSlow(bytes);
  }

  /** What was written; the stream is not to be used any more. */
  finish(): Buffer {
    return this.buffer.subarray(0, this.end);
  }

  savePosition(): void {
    this.savedEnd = this.end;
  }

  rollBack(): void {
    this.end = this.savedEnd;
  }

  get length(): number {
    return this.end;
  }

  /** Drops what was written behind a length that it had. */
  cutTo(length: number): void {
    this.end = length;
  }

  /** Moves what was written to a place in other bytes; returns where it ends there. */
  moveTo(bytes: Buffer, at: number): number {
    const end = at + this.buffer.copy(bytes, at, 0, this.end);
    this.end = 0;
    return end;
  }

  /** Appends a part of some bytes as it is. */
  append(of: Buffer, start: number, stop: number): void {
    this.ensureCapacity(stop - start);
    if (stop - start > SHORT_BYTES) this.end += of.copy(this.buffer, this.end, start, stop);
    else for (let at = start; at < stop; at++) this.buffer[this.end++] = of[at] as number;
  }

  /**
   * Copies an Avro string, and says how many bytes it has.
   *
   * @throws MalformedError where it does not end in its buffer.
   */
  text(from: Cursor): number {
    const length = skipString(from);
    this.slice(from.buffer, from.at - length, from.at);
    return length;
  }

  /** Copies a part of some bytes as a text. */
  slice(of: Buffer, start: number, stop: number): void {
    const length = stop - start;
    this.ensureCapacity(length + LENGTH_BYTES_MAX);
    this.end = writeLength(this.buffer, this.end, length);
    this.append(of, start, stop);
  }

  bytes(some: Buffer): void {
    this.ensureCapacity(some.length);
    this.end += some.copy(this.buffer, this.end);
  }

  byte(value: number): void {
    this.ensureCapacity(1);
    this.buffer[this.end++] = value;
  }

  int32(value: number): void {
    this.ensureCapacity(4);
    this.end = this.buffer.writeInt32LE(value, this.end);
  }

  /** Of a safe integer. */
  int64(value: number): void {
    this.ensureCapacity(8);
    const high = Math.floor(value / TWO_TO_32);
    this.buffer.writeUInt32LE(value - high * TWO_TO_32, this.end);
    this.end = this.buffer.writeInt32LE(high, this.end + 4);
  }

  /** Of two unsigned halves. */
  uint64(low: number, high: number): void {
    this.ensureCapacity(8);
    this.end = this.buffer.writeUInt32LE(high, this.buffer.writeUInt32LE(low, this.end));
  }

  double(value: number): void {
    this.ensureCapacity(8);
    this.end = this.buffer.writeDoubleLE(value, this.end);
  }

  private ensureCapacity(bytes: number): void {
    if (this.end + bytes <= this.buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.end + bytes));
    this.buffer.copy(grown, 0, 0, this.end);
    this.buffer = grown;
  }
}

/** The bytes of several streams, one behind the other in one piece of memory, as most have few of a record. */
export class Streams {
  private readonly bytes: Buffer;
  private readonly ends: readonly number[];

  /** Takes what was written to each stream, which is empty then. */
  constructor(streams: readonly ColumnStream[]) {
    this.bytes = Buffer.allocUnsafeSlow(streams.reduce((sum, { length }) => sum + length, 0));
    let end = 0;
    this.ends = streams.map((stream) => (end = stream.moveTo(this.bytes, end)));
  }

  get length(): number {
    return this.bytes.length;
  }

  /** Where a stream begins. */
  private start(stream: number): number {
    return stream === 0 ? 0 : (this.ends[stream - 1] as number);
  }

  of(stream: number): Buffer {
    return this.bytes.subarray(this.start(stream), this.ends[stream]);
  }

  appendTo(to: ColumnStream, stream: number): void {
    to.append(this.bytes, this.start(stream), this.ends[stream] as number);
  }

  /** A number that a stream of 32-bit integers has. */
  int32(stream: number, at: number): number {
    return this.bytes.readInt32LE(this.start(stream) + at * Int32Array.BYTES_PER_ELEMENT);
  }

  /** A number that a stream of 64-bit integers has. */
  int64(stream: number, at: number): number {
    return Number(this.bytes.readBigInt64LE(this.start(stream) + at * BigInt64Array.BYTES_PER_ELEMENT));
  }
}

/** A length as ClickHouse writes it before a text: seven bits in a byte, the lowest first. */
export function lengthBytes(length: number): Buffer {
  const bytes = Buffer.alloc(LENGTH_BYTES_MAX);
  return bytes.subarray(0, writeLength(bytes, 0, length));
}

function writeLength(to: Buffer, at: number, length: number): number {
  let rest = length;
  let end = at;
  while (rest >= 0x80) {
    to[end++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  to[end++] = rest;
  return end;
}

/** Texts by their numbers, and bytes in which the number of each value stands, 32 bits at so many bytes from the one before. */
export interface NumberedTexts {
  texts: readonly Buffer[];
  bytes: Buffer;
  first: number;
  step: number;
}

/** How ClickHouse writes a LowCardinality: its version, before all else; then that keys follow, and by numbers of which width. */
export const LOW_CARDINALITY = uint64(1);
const KEYS_FOLLOW = 0x600;
const WIDTHS = [Uint8Array, Uint16Array, Uint32Array] as const;

/** The values of a LowCardinality(String) behind its version, from parts that number their texts each for themselves; none: nothing. */
export function lowCardinalityPieces(parts: readonly NumberedTexts[]): Buffer[] {
  const used = new Uint32Array(parts.reduce((sum, { bytes, step }) => sum + bytes.length / step, 0));
  if (used.length === 0) return [];
  const keys: Buffer[] = [];
  const places = new Map<readonly Buffer[], number[]>();
  let element = 0;
  for (const { texts, bytes, first, step } of parts) {
    const placeOf = places.get(texts) ?? [];
    places.set(texts, placeOf);
    for (let at = first; at < bytes.length; at += step) {
      const number = bytes.readInt32LE(at);
      placeOf[number] ??= keys.push(texts[number] as Buffer) - 1;
      used[element++] = placeOf[number];
    }
  }
  const width = WIDTHS.findIndex(({ BYTES_PER_ELEMENT }) => keys.length <= 2 ** (8 * BYTES_PER_ELEMENT));
  const pieces = [uint64(KEYS_FOLLOW + width), uint64(keys.length)];
  for (const key of keys) pieces.push(lengthBytes(key.length), key);
  pieces.push(uint64(element), Buffer.from((WIDTHS[width] as typeof Uint8Array).from(used).buffer));
  return pieces;
}

function uint64(value: number): Buffer {
  return Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
}
