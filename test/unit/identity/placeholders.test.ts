import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { identityNodes } from '#pipelines/identity/identity.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { SECRET, server, siteWith } from '#test/unit/intake/context.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What a till's sale says, and whether it may join its customer to others. */
function joins(properties: object, country = 'US') {
  const sale = {
    event: 'purchase',
    distinct_id: 'c-1',
    properties: { $action_source: 'physical_store', ...properties },
  };
  const { taken, warned } = processBatch([sale], server({ site: siteWith({ default_country: country }) }));
  const [event] = taken;
  if (event === undefined) throw new Error('not taken');
  const nodes = identityNodes(SECRET, event.site_id, event as Parameters<typeof identityNodes>[2]);
  return { event, isJoining: nodes.length > 0, warned: warned.map(({ code }) => code) };
}

/** Numbers that tills and forms send for customers without one. */
const NUMBERS: [number: string, country: string][] = [
  ...['0000000000', '12345', '00000000', '1234567', '0151 12345678'].map((one): [string, string] => [one, 'DE']),
  ...['+10000000000', '+1 111 111 1111', '999-999-9999', '123-456-7890'].map((one): [string, string] => [one, 'US']),
  ...['9999999999', '9876543210', '0000000000'].map((one): [string, string] => [one, 'IN']),
  ...['00000000000', '07777777777', '07123456789'].map((one): [string, string] => [one, 'GB']),
  ...['0101010101', '0612345678', '0600000000'].map((one): [string, string] => [one, 'FR']),
  ...['123456789', '666666666'].map((one): [string, string] => [one, 'ES']),
  ...['11999999999', '(00) 00000-0000'].map((one): [string, string] => [one, 'BR']),
];

test('a telephone number that is nobody’s in particular joins nobody', () =>
  checkAll(NUMBERS, ([phone, country]) => expect(joins({ phone }, country).isJoining).toBe(false)));

test('such a number may still help to match, and is warned about', () => {
  const { event, warned } = joins({ phone: '+1 555 123 4567', email: 'jane@example.com' });
  expect(event.identifiers).toMatchObject({ email: sha256('jane@example.com'), phone: null });
  expect(event.further_identifiers).toMatchObject([{ phone: sha256('+15551234567') }]);
  expect(warned).toEqual(['placeholder_id']);
});

test('a number of somebody behind it leads', () => {
  const { event } = joins({ phone: ['000-000-0000', '+16505551212'] });
  expect(event.identifiers?.phone).toBe(sha256('+16505551212'));
});

test('an address that is nobody’s, or a hash of nothing, joins nobody and is warned about', async () => {
  const hashes = ['', '+', '-', 'na', '+undefined', '+null', '+NaN', '+1', '+49'].map(sha256);
  const addresses = ['undefined@undefined.com', 'noemail@noemail.com', 'test@test.com', 'Guest@Guest.com', 'na@na.na'];
  const contacts = [
    ...addresses.map((email) => ({ email })),
    ...hashes.flatMap((one) => [{ email: one }, { phone: one }]),
  ];
  await checkAll([...contacts, { phone: sha256('0000000000') }], (properties) =>
    expect(joins(properties)).toMatchObject({ isJoining: false, warned: ['placeholder_id'] }),
  );
});

test('so does the distinct id that is one, and a sale without one is no other’s', async () => {
  const sale = (distinct_id: string) => processBatch([{ event: 'purchase', distinct_id, properties: {} }], server());
  await checkAll(['test@test.com', '+10000000000', 'undefined.undefined'], (id) => {
    const { taken, warned } = sale(id);
    expect([taken[0]?.distinct_id.slice(0, 5), taken[0]?.identifiers, warned[0]?.code]).toEqual([
      'anon_',
      null,
      'placeholder_id',
    ]);
  });
});

test('what is somebody’s joins', () =>
  checkAll(
    [{ phone: '+16505551212' }, { phone: '(650) 555-1212' }, { email: 'jane@example.com' }, { external_id: 'c1' }],
    (one) => expect(joins(one)).toMatchObject({ isJoining: true, warned: [] }),
  ));
