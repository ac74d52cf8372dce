// The columns of an event's id: a text, or for a UUID two numbers (migration 0015_uuids).
import { type Cursor, skipString } from '#schemas/wire.ts';
import type { ColumnStream } from './native_format.ts';

const UUID_CHARS = 36;
const HYPHEN = 0x2d;
const HYPHENS = [8, 13, 18, 23] as const;

/** More than all words of a UUID together, however far to the left it comes to stand. */
const NO_WORD = 2 ** 34;
/** By the byte of a digit what it stands for. A UUID in capitals is another text, so another id. */
const DIGITS = new Float64Array(256).fill(NO_WORD);
for (let digit = 0; digit < 16; digit++) DIGITS[digit.toString(16).charCodeAt(0)] = digit;

/** 2^64 divided by the golden ratio, odd, as in the migration. */
const [MIX_HIGH, MIX_LOW] = [0x9e3779b9, 0x7f4a7c15];
const TWO_TO_16 = 2 ** 16;
const TWO_TO_32 = 2 ** 32;

/** The 32 bits of two times four digits; at least NO_WORD where one of them is none. */
function wordAt(bytes: Buffer, upper: number, lower: number): number {
  return bitsAt(bytes, upper) * TWO_TO_16 + bitsAt(bytes, lower);
}

function bitsAt(bytes: Buffer, at: number): number {
  const digit = (place: number): number => DIGITS[bytes[at + place] as number] as number;
  return ((digit(0) * 16 + digit(1)) * 16 + digit(2)) * 16 + digit(3);
}

export interface IdColumns {
  text: ColumnStream;
  high: ColumnStream;
  mixed: ColumnStream;
}

/**
 * Copies an Avro string as an event's id: a UUID as two numbers without a text, any other as a text with zeros.
 *
 * @throws MalformedError where it does not end in its buffer.
 */
export function copyId(from: Cursor, { text, high, mixed }: IdColumns): void {
  const { buffer } = from;
  const length = skipString(from);
  const start = from.at - length;
  if (length === UUID_CHARS && HYPHENS.every((at) => buffer[start + at] === HYPHEN)) {
    const [firstHigh, firstLow] = [wordAt(buffer, start, start + 4), wordAt(buffer, start + 9, start + 14)];
    const [secondHigh, secondLow] = [wordAt(buffer, start + 19, start + 24), wordAt(buffer, start + 28, start + 32)];
    if (firstHigh + firstLow + secondHigh + secondLow < NO_WORD) {
      text.byte(0);
      high.uint64(firstLow, firstHigh);
      mix(mixed, firstHigh, firstLow, secondHigh, secondLow);
      return;
    }
  }
  text.slice(buffer, start, from.at);
  high.uint64(0, 0);
  mixed.uint64(0, 0);
}

/** The second half of a UUID, XOR the first one times the constant, of 64 bits; each as two words. */
function mix(to: ColumnStream, firstHigh: number, firstLow: number, secondHigh: number, secondLow: number): void {
  // Of the product of the lower words all 64 bits, by halves of one, as a number holds 53.
  const lower = (firstLow % TWO_TO_16) * MIX_LOW;
  const upper = Math.floor(firstLow / TWO_TO_16) * MIX_LOW;
  const sum = lower + (upper % TWO_TO_16) * TWO_TO_16;
  const carried = Math.floor(upper / TWO_TO_16) + Math.floor(sum / TWO_TO_32);
  const high = carried + Math.imul(firstHigh, MIX_LOW) + Math.imul(firstLow, MIX_HIGH);
  to.uint64(((sum % TWO_TO_32) ^ secondLow) >>> 0, (high ^ secondHigh) >>> 0);
}
