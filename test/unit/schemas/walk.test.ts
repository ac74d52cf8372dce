import { randomBytes } from 'node:crypto';
import avsc from 'avsc';
import { expect, test } from 'vitest';
import { type AvroType, schemaType } from '#schemas/avro.ts';
import { MalformedError, writeLong } from '#schemas/varint.ts';
import { assertHolds, endOfValue } from '#schemas/walk.ts';

const NAMES = [
  'quota_counts',
  'duplicates',
  'quota_usage',
  'setting',
  'identity_link',
  'delivery',
  'inventory',
  'dead_letter',
] as const;
const ROUNDS = 300;
const MS_MAX = 5_000;

test.each(NAMES)('what %s writes is walked over to its end, and cut short it is refused', (name) => {
  const type = schemaType(name);
  for (let round = 0; round < 20; round++) {
    const bytes = type.toBuffer(type.random());
    expect(() => assertHolds(type, bytes)).not.toThrow();
    expect(() => assertHolds(type, bytes.subarray(0, bytes.length - 1))).toThrow(MalformedError);
  }
});

test.each(NAMES)('chance bytes as %s are refused or walked over at once', (name) => {
  const startedMs = performance.now();
  for (let round = 0; round < ROUNDS; round++) {
    try {
      assertHolds(schemaType(name), randomBytes(400));
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedError);
    }
  }
  expect(performance.now() - startedMs).toBeLessThan(MS_MAX);
});

test('a union that has no such branch is refused', () => {
  const type = avsc.Type.forSchema(['null', 'string']) as AvroType;
  expect(() => assertHolds(type, Buffer.from([47]))).toThrow('no such branch');
});

test('a type that holds itself is walked over', () => {
  const type = avsc.Type.forSchema({
    type: 'record',
    name: 'Node',
    fields: [{ name: 'next', type: ['null', 'Node'] }],
  }) as AvroType;
  const bytes = type.toBuffer({ next: { next: { next: null } } });
  expect(endOfValue(type, Buffer.concat([bytes, Buffer.from([1, 2])]), 0)).toBe(bytes.length);
});

test('a list of more items than bytes is refused before the first', () => {
  const damaged = Buffer.alloc(64);
  // Partition, next offset, and then how many counts there are.
  const behind = writeLong(damaged, writeLong(damaged, 0, 1), 7);
  writeLong(damaged, behind, 1_000_000_000);
  expect(() => assertHolds(schemaType('quota_counts'), damaged)).toThrow('more items than bytes');
});
