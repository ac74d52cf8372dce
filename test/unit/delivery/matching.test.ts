import { expect, test } from 'vitest';
import { matchingIdentifiers } from '#pipelines/delivery/matching.ts';
import type { Identifiers } from '#schemas/event.ts';
import { entryOf, NO_IDENTIFIERS, personOf } from './entries.ts';

const ANN = { email: 'a', phone: 'p', phone_digits: 'd', first_name: 'ann', last_name: 'ahl', external_id: 'c1' };

const CASES: [what: string, own: Partial<Identifiers>, completed: Partial<Identifiers>][] = [
  ['says nothing', {}, ANN],
  ['says the same address', { email: 'a' }, ANN],
  ['says the same address and another name', { email: 'a', first_name: 'anna' }, { ...ANN, first_name: 'anna' }],
  ['says a name alone', { first_name: 'bob' }, { ...ANN, first_name: 'bob' }],
  ['says another address', { email: 'b', first_name: 'bob' }, { email: 'b', first_name: 'bob' }],
  ['says another number', { phone: 'q' }, { phone: 'q' }],
  ['says another customer', { external_id: 'c2' }, { external_id: 'c2' }],
  ['says the same address and another number', { email: 'a', phone: 'q' }, { email: 'a', phone: 'q' }],
];

test.each(CASES)(
  'an event of Ann’s visitor that %s is completed by what is not somebody else’s',
  (_what, own, completed) => {
    const entry = entryOf({ identifiers: { email: null, ...own }, person: personOf(ANN) });
    expect(matchingIdentifiers(entry)).toEqual({ ...NO_IDENTIFIERS, ...completed });
  },
);

test('what is not known of the person contradicts nothing', () => {
  const entry = entryOf({ identifiers: { email: null, phone: 'q' }, person: personOf({ email: 'a' }) });
  expect(matchingIdentifiers(entry)).toMatchObject({ email: 'a', phone: 'q' });
});

test('an event of the offline mode is completed by nothing', () => {
  const entry = entryOf({ identifiers: null, mode: 'offline', person: personOf(ANN) });
  expect(matchingIdentifiers(entry)).toEqual(NO_IDENTIFIERS);
});
