// ClickHouse's Native format: values of columns, one after the other.
import { type Cursor, MalformedError, readLong } from '#schemas/wire.ts';

const INITIAL_BYTES = 4096;
/** Below this a loop is faster than the call that copies. */
const SHORT_BYTES = 32;
/** The longest length, of 32 bits, seven to a byte. */
const LENGTH_BYTES_MAX = 5;
const TWO_TO_32 = 2 ** 32;

/** The values of one column in ClickHouse's Native format, one after the other, in memory that is reused. */
export class ColumnStream {
  private buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  private end = 0;
  private savedEnd = 0;

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

  /** Returns what was written, and empties the stream. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.end);
    this.buffer.copy(taken, 0, 0, this.end);
    this.end = 0;
    return taken;
  }

  /**
   * Copies an Avro string.
   *
   * @throws MalformedError where it does not end in its buffer.
   */
  text(from: Cursor): void {
    const length = readLong(from);
    const stop = from.at + length;
    if (length < 0 || stop > from.buffer.length) throw new MalformedError('text past the end');
    this.slice(from.buffer, from.at, stop);
    from.at = stop;
  }

  /** Copies a part of some bytes as a text. */
  slice(of: Buffer, start: number, stop: number): void {
    const length = stop - start;
    this.ensureCapacity(length + LENGTH_BYTES_MAX);
    this.end = writeLength(this.buffer, this.end, length);
    if (length > SHORT_BYTES) this.end += of.copy(this.buffer, this.end, start, stop);
    else for (let at = start; at < stop; at++) this.buffer[this.end++] = of[at] as number;
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
