import type { Chance } from './random.ts';

/** Must be in no answer, wherever it was put. */
export const PLANTED = 'zyx.hostile@planted.example';

const SCALARS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  -0,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u202e',
  'x'.repeat(201),
  'x'.repeat(5_000),
  PLANTED,
  '+16505550145',
  '%',
  '%ZZ',
  '%25'.repeat(50),
  '{"a":"{\\"b\\":1}"}',
  '[[[[',
  '"'.repeat(100),
  '@'.repeat(500),
  '+'.repeat(500),
  '=&=&=&'.repeat(100),
  '2026-11-20T10:00:00Z',
  '9999-99-99T99:99:99Z',
  '0000-01-01T00:00:00Z',
  'constructor',
  '__proto__',
];
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  '',
  'email',
  'phone',
  '$set',
  'context',
  'traits',
  'user_data',
  'properties',
  'x'.repeat(250),
  PLANTED,
];
const DEPTH_MAX = 5;

/** Any JSON value: of any type, oddly named, a few levels deep. */
function anyValue(chance: Chance, depth = 0): unknown {
  const kind = depth >= DEPTH_MAX ? 0 : chance.below(5);
  if (kind === 3) return Array.from({ length: chance.below(5) }, () => anyValue(chance, depth + 1));
  if (kind === 4) return anyObject(chance, depth + 1);
  return chance.one(SCALARS);
}

function anyObject(chance: Chance, depth: number): object {
  const members = Array.from({ length: chance.below(6) }, (): [string, unknown] => [
    chance.one(NAMES),
    anyValue(chance, depth),
  ]);
  return Object.fromEntries(members);
}

/** The same with some of its parts exchanged for any value, left out, or given another name. */
export function spoiled(value: unknown, chance: Chance, probability = 0.15): unknown {
  if (chance.is(probability / 3)) return anyValue(chance);
  if (Array.isArray(value)) return value.map((member) => spoiled(member, chance, probability));
  if (typeof value !== 'object' || value === null) return chance.is(probability) ? anyValue(chance) : value;
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    if (chance.is(probability / 4)) return [];
    return [[chance.is(probability / 4) ? chance.one(NAMES) : name, spoiled(member, chance, probability)]];
  });
  if (chance.is(probability)) members.push([chance.one(NAMES), anyValue(chance)]);
  return Object.fromEntries(members);
}
