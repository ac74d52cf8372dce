// Bodies as usual senders write them, and what chance makes of them: at the level of values, and of bytes.
import { LOOK_ALIKES, RECORD_CANARIES, TEXT_CANARIES } from '#test/harness/canaries/canaries.ts';
import type { Chance } from '#test/harness/hostile/random.ts';
import { spoiled } from '#test/harness/hostile/values.ts';
import { RECEIVED_AT_MS } from '../context.ts';

const VISITOR = '019a6a5d-ac96-774b-bcce-b302099a8057';
const AT = new Date(RECEIVED_AT_MS - 750).toISOString();

/** As the tag's. */
const PAGE_VIEW = {
  $session_id: '019a6a5d-ac96-774b-8cce-b302099a8058',
  utm_source: 'newsletter',
  $consent: { ads: true, analytics: true },
  $current_url: 'https://shop.example/jackets/sku-1007?utm_source=newsletter&utm_campaign=autumn',
  $referrer: 'https://search.example/results/autumn-jackets',
  $title: 'Product sku-1007 in the autumn sale',
  screen_width: 1920,
  ratio: 1.25,
  language: 'en-GB',
};
const PURCHASE = {
  value: 129.9,
  currency: 'EUR',
  order_id: 'A-20017',
  items: [
    { item_id: 'sku-1', item_name: 'Jacket, blue', price: 99.9, quantity: 1 },
    { item_id: 'sku-2', item_name: 'Größe 42', price: 30, quantity: 1, tags: ['new', 'sale', 'wool'] },
  ],
  coupon: null,
  is_first: false,
};
/** What is said of consent, in the words of banners, SDKs and platforms. */
export const CONSENTS: readonly Record<string, unknown>[] = [
  { $consent: { ads: false, analytics: true } },
  {
    consent: {
      ad_storage: 'granted',
      analytics_storage: 'denied',
      ad_user_data: 'granted',
      ad_personalization: 'denied',
    },
  },
  { consent: 'denied' },
  { gcs: 'G101' },
  { gcs: 'G111', consent: { ad_user_data: 'denied' } },
  { ad_storage: 'granted', plan: 'pro', analytics_storage: 'denied' },
  { $gpc: true },
  { npa: 1, us_privacy: '1YYN' },
  { opt_out: false, limited_data_use: true },
  { data_processing_options: ['LDU', 'x', 'y'] },
  { consentManagement: { deniedConsentIds: ['C0004', 'a', 'b'], allowedConsentIds: ['C0002'] } },
];
/** These come in an object, a text or a list that the careful path looks at. */
export const NESTED_CONSENTS: readonly Record<string, unknown>[] = [
  { context: { consent: { categoryPreferences: { Advertising: false } } } },
  { held: { consent: 'denied', gcs: 'G100' } },
  { consent: '{"ad_user_data":"denied"}' },
  { consent: {}, $consent: null, gcs: '' },
  { consent: ['marketing'] },
];
const USUAL: readonly object[] = [PAGE_VIEW, PURCHASE, { page: '/pricing', plan: 'pro' }, {}];
const NAMES = [
  '$pageview',
  'purchase',
  'view_item',
  'sign_up',
  'Order Completed',
  ' padded ',
  '$create_alias',
  'Größe',
];
const IDS = [
  'order-2001',
  'null',
  'visitor@example.com',
  '+16505550142',
  'x'.repeat(201),
  'A1B2C3D4-0000-4000-8000-00000000000A',
];
const TIMES = [AT, '2026-11-10', 'now', '2019-01-01T00:00:00Z', '2026-11-30T00:00:00Z', '2026-11-10T11:59:00+01:00'];

/** Numbers of some country alone, which nothing shows that counts ASCII's digits; and the addresses of pages by which one signs in. */
export const FOREIGN_DIGITS = [
  '６５４ ５４９２１７',
  '٩١٢ ٣٤٥ ٦٧٨',
  '&#xaea;&#xaeb;&#xaec; &#xaed;&#xaee;&#xaef;&#xaea;&#xaeb;&#xaec;',
  '&amp;#xaea;&amp;#xaeb;&amp;#xaec; &amp;#xaed;&amp;#xaee;&amp;#xaef;&amp;#xaea;&amp;#xaeb;&amp;#xaec;',
];
const SECRET_PATHS = [
  'https://shop.example/reset-password/AbCdEfGhIjKlMnOp',
  'https://shop.example/Invite/kJdPqWzXbTnRfLmYvHs?utm_source=mail',
  '/magic-link/MQ/abcdefGhIjKlMnOpq',
  'https://shop.example/unsubscribe/abcdefgh-ijklmnop-qrstuvwxyz',
];

/** Fits where a text does. */
const TEXTS: readonly string[] = [
  ...TEXT_CANARIES.map(({ text }) => text),
  ...LOOK_ALIKES.map(({ text }) => text),
  ...FOREIGN_DIGITS,
  ...SECRET_PATHS,
  'sk_live_abcdefghijklmnopqrstuvwx',
  'authorization: Basic dXNlcjpwYXNzd29yZA==',
  'my token: abcdefgh1234567890',
  'password: tulip',
  'Kennwort : tulip',
  'ftp://shop.example and pwd: tulip',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  '4111 1111 1111 1111',
  '019A6A5D-AC96-774B-BCCE-B302099A8057',
  '65055501-4200-9000-0000-000000000000',
  '00491711-2345-0678-0000-000000000000',
  '41111111-1111-1111-0000-411111111111',
  '[1,2]',
  ' {"email":"visitor@example.com"}',
  'https://shop.example/?email=visitor%40example.com',
  'https://user:password@shop.example/',
  'dé\u0301jà vu \u202e ｆｕｌｌ',
  '\u00a0',
  '',
];
export const KEYS: readonly string[] = [
  ...'email phone tel name first_name value values label key field type id sku content items user_id gclid password token'.split(
    ' ',
  ),
  ...'ip city zip country country_code user_data $set context $action_source $lib webdriver navigator alias gender'.split(
    ' ',
  ),
  ...'__proto__ constructor toString toJSON length 1 42 order_id currency $anon_distinct_id session props _ga_ABC'.split(
    ' ',
  ),
  ...'consent $consent gcs ad_user_data consentManagement $gpc gpc npa opt_out us_privacy data_processing_options'.split(
    ' ',
  ),
  '',
  'visitor@example.com',
  '6505550142',
  'x'.repeat(201),
];
export const NUMBERS: readonly string[] = [
  '1.0',
  '1e5',
  '-0',
  '01',
  '1e400',
  '12345678901234567890',
  '4111111111111111',
  '0.1',
  '0.0000001',
  '6505550142',
  '1E2',
  '9007199254740993',
  '-5',
  '.5',
  '1.',
  '+1',
  '19.90',
  '0.5',
  '-0.25',
  '999999999.999999',
  '0.000001',
  '1E+2',
  '120000000000',
  '1234567890123',
];

/** Of which nothing is to be seen but by the name that they stand under. */
export const PLAIN: readonly unknown[] = [
  true,
  null,
  'plain',
  'Mara',
  'a1b2c3d4e5f6g7h8',
  7,
  123_456,
  7_654_321,
  '123',
  {},
  { a: 1, b: 'x' },
  { value: 'x', name: 'y' },
  { name: 'Mara', plan: 'pro' },
  ['a', 1, 'b'],
  ['password', 'tulip'],
  [3, 4],
];

export function usualEvent(chance: Chance): Record<string, unknown> {
  return {
    event: chance.is(0.8) ? chance.one(NAMES.slice(0, 5)) : chance.one(NAMES),
    uuid: chance.is(0.8) ? uuid(chance) : chance.one(IDS),
    distinct_id: chance.is(0.8) ? VISITOR : chance.one(IDS),
    timestamp: chance.is(0.8) ? AT : chance.one(TIMES),
    properties: { ...chance.one(USUAL), ...(chance.is(0.3) ? chance.one(CONSENTS) : {}) },
  };
}

function uuid(chance: Chance): string {
  const hex = (count: number): string => Array.from({ length: count }, () => chance.below(16).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
}

/** What a value is exchanged for. */
function oddValue(chance: Chance): unknown {
  return chance.one([
    () => chance.one(TEXTS),
    () => chance.one(PLAIN),
    () => chance.one(PLAIN),
    () => chance.one(RECORD_CANARIES).properties,
    () => chance.one([...CONSENTS, ...NESTED_CONSENTS]),
    () => chance.one(['granted', 'denied', 'G100', 'G111', '1YYN', 'perhaps', 0, 1]),
    () => [chance.one(KEYS), chance.one(TEXTS)],
    () => ({ [chance.one(KEYS)]: chance.one(TEXTS), [chance.one(KEYS)]: chance.below(10_000_000) }),
    () => chance.below(2 ** 31) / chance.one([1, 3, 100]),
    () => null,
  ])();
}

/** An event with some of its members exchanged, added or left out. */
function oddEvent(chance: Chance): unknown {
  const event = usualEvent(chance);
  const properties = event['properties'] as Record<string, unknown>;
  const names = Object.keys(properties);
  for (let times = chance.below(3); times > 0; times -= 1) {
    const name = names.length > 0 && chance.is(0.6) ? chance.one(names) : chance.one(KEYS);
    Object.defineProperty(properties, name, { value: oddValue(chance), enumerable: true, configurable: true });
  }
  return chance.is(0.1) ? spoiled(event, chance) : event;
}

/** A body of usual and odd events, as text. */
export function bodyText(chance: Chance): string {
  const events = Array.from({ length: chance.one([1, 1, 2, 3, 8]) }, () => oddEvent(chance));
  const sentAt = chance.is(0.5) ? { sent_at: chance.one([RECEIVED_AT_MS, AT, null, 'x', 1e300]) } : {};
  return JSON.stringify({ ...sentAt, events }, null, chance.is(0.1) ? 1 : 0);
}

type Mutation = (bytes: Buffer, chance: Chance) => Buffer;

const placed = (bytes: Buffer, at: number, over: number, insert: Buffer | string): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from(insert), bytes.subarray(at + over)]);

/** Where a byte stands, looked for from a place on. */
function placeOf(bytes: Buffer, sign: string, chance: Chance): number {
  const from = chance.below(bytes.length);
  const at = bytes.indexOf(sign, from);
  return at >= 0 ? at : Math.max(0, bytes.indexOf(sign));
}

const BYTES = [
  '\u0000',
  '\\',
  '\\u0000',
  '\\ud800',
  '\\u0040',
  '\\"',
  '"',
  ',',
  ':',
  '{',
  '}',
  '[',
  ']',
  ' ',
  '\n',
  '\ufeff',
  '\x7f',
  '1',
  '-',
  'é',
  '\u2028',
  '/',
];
const INVALID = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0x80]];

const MUTATIONS: readonly Mutation[] = [
  (bytes) => bytes,
  (bytes, chance) => bytes.subarray(0, chance.below(bytes.length)),
  (bytes, chance) => placed(bytes, chance.below(bytes.length), 0, chance.one(BYTES)),
  (bytes, chance) => placed(bytes, chance.below(bytes.length), 1, chance.one(BYTES)),
  (bytes, chance) => placed(bytes, chance.below(bytes.length), 1, ''),
  (bytes, chance) => placed(bytes, chance.below(bytes.length), 0, Buffer.from(chance.one(INVALID))),
  // A character as its escape, wherever it stands.
  (bytes, chance) => {
    const at = chance.below(bytes.length);
    return placed(bytes, at, 1, `\\u00${(bytes[at] as number).toString(16).padStart(2, '0')}`);
  },
  // A member twice, or one more.
  (bytes, chance) => {
    const member = chance.one([
      `"${chance.one(KEYS)}":1,`,
      '"$title":"b@c.example",',
      '"event":"x",',
      '"properties":{},',
      '"events":[],',
      '"__proto__":{"a":1},',
      '"$consent":{"ads":false},',
      '"gcs":"G100",',
      '"con\\u0073ent":"denied",',
    ]);
    return placed(bytes, placeOf(bytes, '"', chance), 0, member);
  },
  (bytes, chance) => {
    const twice = chance.one([
      '"plan":1,"plan":2',
      '"plan":{"page":1,"plan":1,"page":"x"}',
      '"plan":{"plan":1},"plan":2',
    ]);
    return placed(bytes, placeOf(bytes, '"properties":{', chance) + '"properties":{'.length, 0, `${twice},`);
  },
  (bytes, chance) => placed(bytes, placeOf(bytes, ':', chance) + 1, 0, `${chance.one(NUMBERS)},"plan":`),
  (bytes, chance) => placed(bytes, placeOf(bytes, ',', chance), 0, chance.one([' ', '\n', '\t\r', '  '])),
  (bytes, chance) => placed(bytes, placeOf(bytes, ':', chance) + 1, 0, `${'{"a":'.repeat(chance.below(20))}1`),
];

/** A body as some hostile sender may have made it of a usual one. */
export function hostileBody(chance: Chance): Buffer {
  let bytes: Buffer = Buffer.from(bodyText(chance));
  for (let times = chance.below(3); times > 0 && bytes.length > 0; times -= 1)
    bytes = chance.one(MUTATIONS)(bytes, chance);
  return bytes;
}
