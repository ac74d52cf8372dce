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
