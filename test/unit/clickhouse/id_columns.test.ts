import { expect, test } from 'vitest';
import { copyId } from '#infra/clickhouse/inserts/id_columns.ts';
import { ColumnStream } from '#infra/clickhouse/inserts/native_format.ts';
import { MalformedError } from '#schemas/wire.ts';
import { randomFor } from '#services/local/demo/world/random.ts';

const TIMES = 11_400_714_819_323_198_485n;
const MASK = 2n ** 64n - 1n;

/** An Avro string. */
function avro(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  let rest = bytes.length * 2;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) length.push((rest % 0x80) + 0x80);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

function stored(id: string): { text: string; high: bigint; mixed: bigint } {
  const [text, high, mixed] = [new ColumnStream(), new ColumnStream(), new ColumnStream()];
  const bytes = avro(id);
  const from = { buffer: Buffer.concat([bytes, Buffer.from('behind it')]), at: 0 };
  copyId(from, { text, high, mixed });
  expect(from.at).toBe(bytes.length);
  const native = text.finish();
  // Of a text below 128 bytes the length is one byte.
  return {
    text: native.subarray(1).toString(),
    high: high.finish().readBigUInt64LE(),
    mixed: mixed.finish().readBigUInt64LE(),
  };
}

/** As `sent_id` of the table makes it. */
function uuidOf({ high, mixed }: { high: bigint; mixed: bigint }): string {
  const digits = [high, mixed ^ ((high * TIMES) & MASK)].map((half) => half.toString(16).padStart(16, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const EDGES = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '00000000-ffff-0000-ffff-00000000ffff',
  'ffffffff-0000-ffff-0000-ffffffff0000',
  '80000000-0000-0000-8000-000000000001',
  '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5b',
];

test.for(EDGES)('%s is stored as two numbers that make it again', (id) => {
  const of = stored(id);
  expect(of.text).toBe('');
  expect(uuidOf(of)).toBe(id);
});

test('any UUID is', () => {
  const random = randomFor('uuids');
  for (let round = 0; round < 20_000; round++) {
    const word = (): string =>
      random
        .whole(0, 2 ** 16 - 1)
        .toString(16)
        .padStart(4, '0');
    const id = `${word()}${word()}-${word()}-${word()}-${word()}-${word()}${word()}${word()}`;
    const of = stored(id);
    expect(of.text + uuidOf(of)).toBe(id);
  }
});

test.for([
  '',
  'order-2001',
  '0193A1B2-c3d4-7e5f-8a6b-0c1d2e3f4a5b',
  '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5',
  '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5bc',
  '0193a1b2c3d4-7e5f-8a6b-0c1d-2e3f4a5b',
  '0193a1b2-c3d4-7e5f-8a6b_0c1d2e3f4a5b',
  '{193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5}',
  '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5é'.slice(1),
  ...Array.from({ length: 36 }, (_, at) => {
    const id = '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5b';
    return `${id.slice(0, at)}g${id.slice(at + 1)}`;
  }),
])('%j is no UUID, and stays a text', (id) => {
  expect(stored(id)).toEqual({ text: id, high: 0n, mixed: 0n });
});

test('ids that share a half differ in the number that tells ids apart alone', () => {
  const ids = Array.from({ length: 5_000 }, (_, at) => {
    const digits = at.toString(16).padStart(8, '0');
    // Of version 1, whose second half is that of the computer; and one that somebody counts in the second half, or in both.
    return [
      `${digits}-5f2a-11ef-9a3b-325096b39f47`,
      `00000000-0000-4000-8000-0000${digits}`,
      `${digits}-0000-4000-8000-0000${digits}`,
    ];
  }).flat();
  expect(new Set(ids.map((id) => stored(id).mixed)).size).toBe(new Set(ids).size);
});

test('what ends before its length says is malformed', () => {
  const streams = { text: new ColumnStream(), high: new ColumnStream(), mixed: new ColumnStream() };
  const cut = avro('0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5b').subarray(0, 30);
  expect(() => copyId({ buffer: cut, at: 0 }, streams)).toThrow(MalformedError);
});
