import { expect, test } from 'vitest';
import { hashedPlace } from '#pipelines/delivery/matching.ts';
import { stateCode } from '#pipelines/privacy/countries.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import { entryOf, siteOf } from './entries.ts';

test('a state of the United States is its two letters', () => {
  expect(['New York', 'US-NY', 'ny', 'Wyoming', 'District of Columbia'].map((text) => stateCode(text, 'us'))).toEqual([
    'ny',
    'ny',
    'ny',
    'wy',
    'dc',
  ]);
});

test.each(['constructor', 'Constructor', 'valueOf', 'toString', 'hasOwnProperty', '__proto__'])(
  'a state that names what every object has is a text like any other: %s',
  (state) => {
    const deadLetters = state.toLowerCase().replaceAll('_', '');
    expect(stateCode(state, 'us')).toBe(deadLetters);
    expect(hashedPlace(entryOf({ state, country: 'US' }).event, siteOf()).state).toBe(sha256Hex(deadLetters));
  },
);
