import avsc from 'avsc';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { schemaType } from '#schemas/schemas.ts';
import { type AvroType, assertHolds, endOfValue, MalformedError, writeLong } from '#schemas/wire.ts';
import { cases } from '#test/harness/environment.ts';

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
const ROUNDS = cases(300);

interface Shape {
  typeName: string;
  fields?: readonly { name: string; type: Shape }[];
  itemsType?: Shape;
  valuesType?: Shape;
  types?: readonly Shape[];
  symbols?: readonly string[];
}

/** Values of one of the library's types; its own come of a chance that has no seed. */
function valuesOf({
  typeName,
  fields = [],
  itemsType,
  valuesType,
  types = [],
  symbols = [],
}: Shape): fc.Arbitrary<unknown> {
  if (typeName === 'record')
    return fc.record(Object.fromEntries(fields.map(({ name, type }) => [name, valuesOf(type)])));
  if (itemsType !== undefined) return fc.array(valuesOf(itemsType));
  if (valuesType !== undefined) return fc.dictionary(fc.string(), valuesOf(valuesType));
  if (typeName.startsWith('union:')) return fc.oneof(...types.map(valuesOf));
  if (typeName === 'enum') return fc.constantFrom(...symbols);
  const simple = SIMPLE[typeName];
  if (simple === undefined) throw new Error(`no values of ${typeName}`);
  return simple;
}

const SIMPLE: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  null: fc.constant(null),
  boolean: fc.boolean(),
  int: fc.integer(),
  // Doubled by its coding, a number must be safe still.
  long: fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 }),
  float: fc.float(),
  double: fc.double(),
  string: fc.string({ unit: 'grapheme' }),
  bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
};

test.each(NAMES)('what %s writes is walked over to its end, and cut short it is refused', (name) => {
  const type = schemaType(name);
  fc.assert(
    fc.property(valuesOf(type as unknown as Shape), (value) => {
      const bytes = type.toBuffer(value);
      expect(() => assertHolds(type, bytes)).not.toThrow();
      expect(() => assertHolds(type, bytes.subarray(0, bytes.length - 1))).toThrow(MalformedError);
    }),
  );
});

test.each(NAMES)('chance bytes as %s are refused or walked over', (name) => {
  const type = schemaType(name);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 400, maxLength: 400, size: 'max' }), (bytes) => {
      try {
        assertHolds(type, Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedError);
      }
    }),
    { numRuns: ROUNDS },
  );
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
