import { expect, test } from 'vitest';
import { shownNames } from '#pipelines/ingestion_warnings/shown_names.ts';
import { residue, TEXT_CANARIES } from '#test/harness/canaries/canaries.ts';

const secret = Buffer.alloc(32, 7);
const shown = (sent: unknown) => shownNames(sent, { secret, defaultCountry: 'BE' });

test('the names of an event are shown, and none of its values', () => {
  const sent = { event: ' purchase ', uuid: 'u', timestamp: 'never', properties: { value: 5, 'cart.size': 'secret' } };
  expect(shown(sent)).toEqual({
    event: 'purchase',
    fields: ['event', 'uuid', 'timestamp', 'properties', 'properties.value', 'properties.cart.size'],
  });
});

test.for([
  ['no object', 'text', { event: null, fields: [] }],
  ['a list', [1], { event: null, fields: [] }],
  ['no name', { name: 'buy' }, { event: null, fields: ['name'] }],
  ['a name that is too long', { event: 'x'.repeat(201) }, { event: null, fields: ['event'] }],
  ['a name with a control character', { event: 'a\u0000b' }, { event: null, fields: ['event'] }],
  ['properties that are no object', { event: 'a', properties: 'b' }, { event: 'a', fields: ['event', 'properties'] }],
  ['a long field', { ['x'.repeat(201)]: 1 }, { event: null, fields: ['(longer than 200 characters)'] }],
] as const)('of %s', ([, sent, expected]) => {
  expect(shown(sent)).toEqual(expected);
});

test('at most 20 fields are shown', () => {
  const properties = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`p${at}`, at]));
  expect(shown({ event: 'a', properties }).fields).toHaveLength(20);
  expect(shown({ event: 'a', ...properties }).fields).toHaveLength(20);
});

test('what may be a phone number is redacted, however it is written', () => {
  for (const name of ['+32 470 12 34 56', '0470123456', '32470123456', 'tel_0470-12-34-56', '(650) 555-0142']) {
    const { event, fields } = shown({ event: name, [name]: 1, properties: { [name]: 1 } });
    expect(residue(JSON.stringify([event, fields]), ['0470123456', '470123456', '6505550142']), name).toEqual([]);
  }
});

test('no e-mail address and no phone number is left of a name, of whatever place', () => {
  for (const { text, raw, country } of TEXT_CANARIES) {
    const properties = { [text]: 1, ...(country === undefined ? {} : { country }) };
    const names = shown({ event: text, [text]: 1, properties });
    expect(residue(JSON.stringify(names), raw), text).toEqual([]);
  }
});

test('no key of a site and no token of the service is left of a name', () => {
  for (const prefix of ['svc_pk_', 'svc_sk_', 'svc_at_', 'svc_st_']) {
    const name = `my ${prefix}${'aB470123'.repeat(4)}`;
    const { event, fields } = shown({ event: name, [name]: 1, properties: { [name]: 1 } });
    expect([event, ...fields]).toEqual(['my redacted', 'event', 'my redacted', 'properties', 'properties.my redacted']);
  }
});
