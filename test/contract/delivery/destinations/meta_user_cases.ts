import { createHash } from 'node:crypto';
import { type EntryChanges, entryOf, NOW_MS, personOf } from '#test/unit/delivery/entries.ts';
import { JANE, MORE_OF_JANE } from '../case_builders.ts';
import type { MappingCase } from '../subject.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const PAGE = { $current_url: 'https://shop.example/thanks' };
const CLICKED = 'https://shop.example/?utm_source=fb&fbclid=IwAR0AbCdEf_GhIj';
const user = (data: object, ...without: string[]): MappingCase['expected'] => ({
  form: { data: [{ user_data: data }] },
  without: without.map((key) => `data[0].user_data.${key}`),
});

const place = (
  title: string,
  changes: EntryChanges,
  expected: MappingCase['expected'],
  country = 'US',
): MappingCase => ({
  title: `place: ${title}`,
  entry: entryOf(changes),
  site: { default_country: country },
  expected,
});

const identifierCases: MappingCase[] = [
  {
    title: 'user: hashed identifiers under their keys, the phone without its plus',
    entry: entryOf({
      identifiers: {
        email: hash('jane@example.com'),
        email_google: hash('other'),
        phone: hash('+16505551212'),
        phone_digits: hash('16505551212'),
        first_name: hash('jane'),
        last_name: hash('doe'),
        external_id: hash('42'),
      },
    }),
    expected: user({
      em: '8c87b489ce35cf2e2f39f80e282cb2e804932a56a213983eeeb428407d43b52d',
      ph: hash('16505551212'),
      fn: hash('jane'),
      ln: hash('doe'),
      external_id: hash('42'),
    }),
  },
  {
    title: 'user: several addresses, numbers and forms of a customer number go as lists',
    entry: entryOf({ identifiers: JANE, further_identifiers: MORE_OF_JANE }),
    expected: user({
      em: [JANE.email, MORE_OF_JANE[0]?.email],
      ph: [JANE.phone_digits, MORE_OF_JANE[1]?.phone_digits],
      external_id: [JANE.external_id, MORE_OF_JANE[2]?.external_id],
    }),
  },
  {
    title: 'user: what the event lacks is known of the person',
    entry: entryOf({
      identifiers: { email: hash('own') },
      person: personOf({ email: hash('own'), phone: hash('+1'), phone_digits: hash('1'), external_id: hash('7') }),
    }),
    expected: user({ em: hash('own'), ph: hash('1'), external_id: hash('7') }),
  },
  {
    title: 'user: an event of somebody else is not completed',
    entry: entryOf({
      identifiers: { email: hash('own') },
      person: personOf({ email: hash('known'), phone: hash('+1'), phone_digits: hash('1'), external_id: hash('7') }),
    }),
    expected: user({ em: hash('own') }, 'ph', 'external_id'),
  },
  {
    title: 'user: an event without identifiers of its own is matched by those of the person',
    entry: entryOf({ identifiers: null, person: personOf({ email: hash('known') }) }),
    expected: user({ em: hash('known') }, 'ph', 'fn'),
  },
  {
    title: 'user: address and browser are not hashed',
    entry: entryOf({ client_ip: '2001:4860:4860::8888', client_user_agent: 'Agent/1.0' }),
    expected: user({ client_ip_address: '2001:4860:4860::8888', client_user_agent: 'Agent/1.0' }),
  },
  {
    title: 'user: an address that is none is left out',
    entry: entryOf({ client_ip: 'unknown' }),
    expected: user({}, 'client_ip_address'),
  },
  {
    title: 'user: a browser and a place alone are too broad',
    entry: entryOf({ identifiers: null, client_ip: null, city: 'Paris', zip: '75001', country: 'FR' }),
    expected: { skip: 'insufficient_user_data' },
  },
  {
    title: 'user: nothing at all',
    entry: entryOf({
      identifiers: null,
      client_ip: null,
      client_user_agent: null,
      action_source: 'chat',
      properties: {},
    }),
    expected: { skip: 'insufficient_user_data' },
  },
  {
    title: 'user: an address and a browser are enough',
    entry: entryOf({ identifiers: null }),
    expected: user({ client_ip_address: '203.0.113.7' }, 'em'),
  },
  {
    title: 'user: ids that Meta gave out go as they are',
    entry: entryOf({ properties: { ...PAGE, subscription_id: 'sub-1', lead_id: 12345, fb_login_id: 'fb-9' } }),
    expected: user({ subscription_id: 'sub-1', lead_id: '12345', fb_login_id: 'fb-9' }),
  },
];

const clickCases: MappingCase[] = [
  {
    title: 'click: the cookie goes as it is',
    entry: entryOf({ properties: { ...PAGE, fbc: 'fb.1.1700000000000.AbC', fbp: 'fb.1.1700000000000.1234567890' } }),
    expected: user({ fbc: 'fb.1.1700000000000.AbC', fbp: 'fb.1.1700000000000.1234567890' }),
  },
  {
    title: 'click: built from fbclid, its case kept',
    entry: entryOf({ properties: { ...PAGE, fbclid: 'IwAR2xYz_AbC' }, timestamp: NOW_MS - 2_000 }),
    expected: user({ fbc: `fb.1.${NOW_MS - 2_000}.IwAR2xYz_AbC` }),
  },
  {
    title: 'click: of an event that a clock puts ahead, when it arrived',
    entry: entryOf({ properties: { ...PAGE, fbclid: 'IwAR2' }, timestamp: NOW_MS + 72_000_000, received_at: NOW_MS }),
    expected: user({ fbc: `fb.1.${NOW_MS}.IwAR2` }),
  },
  {
    title: 'click: built from the page address',
    entry: entryOf({ properties: { $current_url: CLICKED }, timestamp: NOW_MS - 2_000 }),
    expected: user({ fbc: `fb.1.${NOW_MS - 2_000}.IwAR0AbCdEf_GhIj` }),
  },
  {
    title: 'click: what is no cookie is left out',
    entry: entryOf({ properties: { ...PAGE, fbc: 'nonsense', fbp: 'nonsense' } }),
    expected: user({}, 'fbc', 'fbp'),
  },
];

const placeCases: MappingCase[] = [
  place('city in lower case without spaces', { city: ' New  York ' }, user({ ct: hash('newyork') })),
  place('city without punctuation', { city: "Coeur d'Alene, St." }, user({ ct: hash('coeurdalenest') })),
  place('city with letters of its own', { city: 'Köln' }, user({ ct: hash('köln') }), 'DE'),
  place('city in another script', { city: '東京' }, user({ ct: hash('東京') }), 'JP'),
  place('state of two letters', { state: 'CA', country: 'US' }, user({ st: hash('ca'), country: hash('us') })),
  place('state by name', { state: 'New Hampshire', country: 'us' }, user({ st: hash('nh') })),
  place('state by ISO 3166-2', { state: 'US-CA', country: 'US' }, user({ st: hash('ca') })),
  place('state read by the country of the site', { state: 'Texas' }, user({ st: hash('tx') }, 'country')),
  place('state that is none', { state: 'Constructor', country: 'US' }, user({ st: hash('constructor') })),
  place('state elsewhere', { state: 'Nord-Pas-de-Calais', country: 'FR' }, user({ st: hash('nordpasdecalais') })),
  place('US postal code of five digits', { zip: '94025-1234', country: 'US' }, user({ zp: hash('94025') })),
  place('postal code with a space', { zip: '1012 AB', country: 'NL' }, user({ zp: hash('1012ab') })),
  place(
    'UK postal code, whole and as area, district and sector',
    { zip: 'SW1A 1AA', country: 'GB' },
    user({ zp: [hash('sw1a1aa'), hash('sw1a1')] }),
  ),
  place(
    'postal code with a dash, without it and with it',
    { zip: '100-0001', country: 'JP' },
    user({ zp: [hash('1000001'), hash('100-0001')] }),
  ),
  place('postal code of elsewhere on a US site', { zip: 'SW1A 1AA' }, user({ zp: hash('sw1a1aa') })),
  place('postal code of six digits on a US site', { zip: '101000' }, user({ zp: hash('101000') })),
  place('postal code of nine digits on a US site', { zip: '94025 1234' }, user({ zp: hash('94025') })),
  place(
    'places hashed by the sender are not hashed again',
    { city: hash('paris').toUpperCase(), state: hash('idf'), zip: hash('75001'), country: hash('fr') },
    user({ ct: hash('paris'), st: hash('idf'), zp: hash('75001'), country: hash('fr') }),
  ),
  place('a place as MD5 is left out', { city: 'd41d8cd98f00b204e9800998ecf8427e' }, user({}, 'ct')),
  place('country by three letters', { country: 'GBR' }, user({ country: hash('gb') })),
  place('country in its own language', { country: 'Deutschland' }, user({ country: hash('de') })),
  place('country by its official name', { country: 'Russian Federation' }, user({ country: hash('ru') })),
  place('country of a part of it', { country: 'CA-ON' }, user({ country: hash('ca') })),
  place('country of a code that is none', { country: 'XX' }, user({}, 'country')),
  place('country by code', { country: 'DE' }, user({ country: hash('de') })),
  place('country by name', { country: 'United Kingdom' }, user({ country: hash('gb') })),
  place('country in common use', { country: 'USA' }, user({ country: hash('us') })),
  place('country that is none', { country: 'Atlantis' }, user({}, 'country')),
];

export const userCases: readonly MappingCase[] = [...identifierCases, ...clickCases, ...placeCases];
