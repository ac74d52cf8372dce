import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { type ColumnarEvent, columnarEvents } from '#infra/clickhouse/inserts/event_columns.ts';
import { VISITOR_COLUMNS } from '#infra/clickhouse/inserts/visitor_columns.ts';
import { keptPlaces } from '#pipelines/warehouse/visitor.ts';
import { ACTION_SOURCES, type Event, type EventEntry, type Identifiers } from '#schemas/event.ts';
import {
  createBatchWriter,
  type EncodedEvent,
  encodeEvent,
  encodePerson,
  noPerson,
  readBatch,
} from '#schemas/event_batch.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { eventRow, testPhoneHmac } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const IDENTIFIERS: Identifiers = {
  email: 'e',
  email_google: 'eg',
  email_stripped: 'es',
  phone: 'p',
  phone_digits: 'pd',
  first_name: 'f',
  first_name_google: 'fg',
  last_name: 'l',
  last_name_google: 'lg',
  external_id: 'x',
};
const DAY_MS = 86_400_000;

function row(changes: Partial<Event>, personId = 'p_1') {
  return eventRow({
    coordinate: { partition: 1, offset: 2, index: 3 },
    person: { person_id: personId, identifiers: null },
    event: sampleEvent(changes),
  });
}

const count = async (database: Database): Promise<unknown> =>
  rowsOf(database, 'SELECT count() AS rows FROM event_rows SETTINGS optimize_trivial_count_query = 0');

test('a block inserted twice under its token stands there once, over several months too', async () => {
  const database = await create.migrated();
  const rows = [0, 40, 80].map((days) =>
    row({ event_id: `e-${days}`, timestamp: Date.UTC(2026, 5, 1) + days * DAY_MS }),
  );
  for (let times = 0; times < 3; times++) await insertBlock(database.warehouse, 'event_rows', 'events/0/0-2', rows);
  expect(await count(database)).toEqual([{ rows: 3 }]);
});

test('the same rows under another token stand there again', async () => {
  const database = await create.migrated();
  await database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  for (const token of ['a', 'b']) await insertBlock(database.warehouse, 'event_rows', token, [row({})]);
  expect(await count(database)).toEqual([{ rows: 2 }]);
});

test('times, texts and numbers come back as they were sent', async () => {
  const database = await create.migrated();
  const events = [
    { event_id: 'a', timestamp: 1_790_000_000_123, received_at: 1_790_000_000_999, value: 0.1, currency: 'EUR' },
    { event_id: 'b', timestamp: Date.UTC(2024, 1, 29, 23, 59, 59, 1), received_at: 1_790_000_000_000, value: -1e-9 },
    {
      event_id: 'c\n"\\\u{1f600}',
      timestamp: Date.UTC(2026, 0, 1),
      properties: '{"text":"\\"quoted\\" \\n \u{1f600}"}',
    },
  ];
  const rows = events.map((event) => row(event));
  await insertBlock(database.warehouse, 'event_rows', 'token', rows);
  const found = await rowsOf(
    database,
    `SELECT * EXCEPT (property_texts, uuid_high, uuid_mixed) REPLACE (toString(visit_key) AS visit_key, toUnixTimestamp64Milli(timestamp) AS timestamp, toUnixTimestamp64Milli(received_at) AS received_at)
     FROM event_rows ORDER BY event_id`,
  );
  expect(found).toEqual(rows);
});

const EVENTS: readonly Partial<Event>[] = [
  {},
  { value: null, currency: null, order_id: null, city: null, state: null, zip: null, country: null },
  { value: Number.MIN_VALUE, identify: true, caller: 'server', mode: 'offline', original_timestamp: 'in 3026' },
  ...ACTION_SOURCES.map((action_source) => ({ action_source })),
  { identifiers: null, client_ip: null, client_user_agent: null },
  { identifiers: IDENTIFIERS },
  { identifiers: { ...IDENTIFIERS, email: null, last_name: null } },
  { timestamp: Date.UTC(1970, 0, 1) - 1, received_at: Date.UTC(2099, 11, 31) },
  ...[31, 32, 33, 127, 128, 16_384, 600_000].map((length) => ({
    properties: 'ä'.repeat(length),
    event: '\u{1f600}\n\0',
  })),
];

function viewsOf(entries: readonly EventEntry[]): EncodedEvent[] {
  const writer = createBatchWriter(1);
  for (const { coordinate, person, event } of entries) {
    writer.add(coordinate, person === null ? noPerson() : encodePerson(person), encodeEvent(event));
  }
  return readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
}

test('events in columns make the rows that their values make', async () => {
  const [columns, json] = [await create.migrated(), await create.migrated()];
  const entries = EVENTS.map(
    (changes, index): EventEntry => ({
      event: sampleEvent({ ...changes, event_id: `e-${String(index).padStart(2, '0')}` }),
      person: index % 3 === 0 ? null : { person_id: `p_${index}`, identifiers: index % 2 === 0 ? null : IDENTIFIERS },
      coordinate: index % 4 === 0 ? null : { partition: 11, offset: 2 ** 40 + index, index },
    }),
  );
  const views = viewsOf(entries);
  const written = columnarEvents(views.slice(0, -3), testPhoneHmac).rows;
  const madeAnew = columnarEvents(views, testPhoneHmac).rows.slice(-3);
  await insertBlock(columns.warehouse, 'event_rows', 'block', [...written, ...madeAnew]);
  await insertBlock(json.warehouse, 'event_rows', 'block', entries.map(eventRow));
  const query = 'SELECT * EXCEPT (visit_key) FROM event_rows ORDER BY event_id';
  const found = await rowsOf(columns, query);
  expect(found).toHaveLength(EVENTS.length);
  expect(found).toEqual(await rowsOf(json, query));
});

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const SAFARI =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15';
const ON_CHROME = {
  browser: 'Chrome',
  browser_version: '142',
  os: 'Windows',
  os_version: '10',
  device_type: 'desktop',
};
const IN_BELGIUM = { geo_country: 'BE', geo_region: 'Flanders', geo_city: 'Ghent' };
/** Belgium alone is known, and there every address is in Ghent. */
const belgium = (version = 1) => ({
  placeOf: (ip: string) => (ip.startsWith('193.') ? { country: 'BE', region: 'Flanders', city: 'Ghent' } : null),
  version,
  ofSite: (siteId: string) => keptPlaces(SITES[siteId]),
});
const SITES: Record<string, Parameters<typeof keptPlaces>[0]> = {
  careful: { visitor_places: 'country', visitor_addresses: 'cut' },
  silent: { visitor_places: 'none', visitor_addresses: null },
};
const belgian = { client_ip: '193.191.0.1', client_user_agent: CHROME };

test.each<[string, Partial<Event>, object]>([
  ['a browser', belgian, { ...IN_BELGIUM, ...ON_CHROME }],
  ['a browser at an address that nobody knows', { ...belgian, client_ip: '8.8.8.8' }, ON_CHROME],
  ['an app with a browser key', { ...belgian, client_user_agent: 'okhttp/4.12.0' }, IN_BELGIUM],
  ['a shopper whom a server reports', { ...belgian, caller: 'server' }, { ...IN_BELGIUM, ...ON_CHROME }],
  ['a server of its own', { ...belgian, caller: 'server', client_user_agent: 'axios/1.7.2' }, {}],
  ['a server without a user agent', { ...belgian, caller: 'server', client_user_agent: null }, {}],
  ['a till', { ...belgian, caller: 'server', action_source: 'physical_store' }, {}],
  ['a site in offline mode', { ...belgian, mode: 'offline', properties: '{"$browser_language":"nl"}' }, {}],
  [
    'what a browser says of itself',
    {
      ...belgian,
      properties: '{"language":"de","$browser_language":"nl_BE","$screen_width":1280,"screen_resolution":"390x844"}',
    },
    { ...IN_BELGIUM, ...ON_CHROME, language: 'nl-BE', screen_class: 'large' },
  ],
  [
    'what a browser says in JSON with escapes',
    { ...belgian, properties: '{"a\\"b":1,"language":"nl","screen_width":"390"}' },
    { ...IN_BELGIUM, ...ON_CHROME, language: 'nl', screen_class: 'small' },
  ],
  [
    'what a library for Segment says',
    { ...belgian, properties: '{"context":{"locale":"fr-BE","screen":{"density":2,"width":600,"height":9}}}' },
    { ...IN_BELGIUM, ...ON_CHROME, language: 'fr-BE', screen_class: 'medium' },
  ],
  [
    'an iPad that poses as a computer',
    { client_ip: null, client_user_agent: SAFARI, properties: '{"$device_type":"Tablet"}' },
    { browser: 'Safari', browser_version: '18.6', os: 'iOS', device_type: 'tablet' },
  ],
  [
    'a site that wants countries alone',
    { ...belgian, site_id: 'careful' },
    { ...IN_BELGIUM, geo_region: '', geo_city: '', ...ON_CHROME },
  ],
  ['a site that wants no places', { ...belgian, site_id: 'silent' }, ON_CHROME],
  [
    'words that are neither',
    { ...belgian, properties: '{"language":"Dutch","$screen_width":{}}' },
    { ...IN_BELGIUM, ...ON_CHROME },
  ],
])('where %s is and with what stands in its row', async (_what, changes, expected) => {
  const database = await create.migrated();
  const entry: EventEntry = { event: sampleEvent(changes), person: null, coordinate: null };
  const [written] = columnarEvents(viewsOf([entry]), testPhoneHmac, belgium()).rows;
  await insertBlock(database.warehouse, 'event_rows', 'block', [written as ColumnarEvent]);
  const [found] = await rowsOf(database, 'SELECT * FROM event_rows');
  const client_ip = changes.site_id === 'careful' ? '193.191.0.0' : (entry.event.client_ip ?? '');
  const { site_id, client_user_agent } = eventRow(entry);
  expect(found).toMatchObject({ site_id, client_user_agent, client_ip, ...expected });
  const names = VISITOR_COLUMNS.filter((name) => (found as Record<string, unknown>)[name] !== '');
  const told = Object.entries(expected).flatMap(([name, text]) => (text === '' ? [] : [name]));
  expect([...names].sort()).toEqual(told.sort());
});

const TAGGED = { $session_id: '019a2b3c-0000-7000-8000-000000000001', $current_url: 'https://shop.example/a?x=1' };

test.each<[string, Partial<Event>, object, string, boolean | null]>([
  ['a page that nothing led to', {}, TAGGED, '', true],
  [
    'a search',
    {},
    { ...TAGGED, $referrer: 'https://www.google.de/url?q=x' },
    'r|Organic Search|google|organic||google.de',
    true,
  ],
  ['another page of the site', {}, { ...TAGGED, $referrer: 'https://www.shop.example/b' }, '', true],
  ['a further domain of the site', {}, { ...TAGGED, $referrer: 'https://tills.example/' }, '', true],
  [
    'a campaign',
    {},
    { ...TAGGED, utm_source: 'Büro "News"', utm_medium: 'email' },
    'c|Email|büro "news"|email||',
    true,
  ],
  ['an ad', {}, { ...TAGGED, $current_url: 'https://shop.example/?gclid=a#x' }, 'c|Paid Search|google|cpc||', true],
  ['a fragment', {}, { ...TAGGED, $current_url: 'https://shop.example/#?gclid=a' }, '', true],
  [
    'gtag',
    {},
    {
      ga_session_id: 1_790_000_000,
      client_id: 'c',
      page_location: 'https://a.example/',
      page_referrer: 'https://b.example/',
    },
    'r|Referral|b.example|referral||b.example',
    true,
  ],
  ['a browser that tells no session', {}, { $session_id: null }, '', false],
  ['a till', { caller: 'server', action_source: 'physical_store' }, TAGGED, '', null],
  ['a server of its own', { caller: 'server', client_user_agent: 'axios/1.7.2' }, TAGGED, '', null],
  ['a shopper whom a server reports', { caller: 'server' }, TAGGED, '', true],
  ['a site in offline mode', { mode: 'offline' }, TAGGED, '', null],
])(
  'of %s the row says of which visit it is, and how that came',
  async (_what, changes, properties, arrival, isTold) => {
    const database = await create.migrated();
    const entryOf = (json: string): EventEntry => ({
      event: sampleEvent({ ...belgian, ...changes, properties: json }),
      ...{ person: null, coordinate: null },
    });
    // Written with escapes it is the same.
    const escaped = JSON.stringify(properties).replaceAll('/', '\\/').replaceAll('ü', '\\u00fc');
    const locating = { ...belgium(), ofSite: () => ({ ...keptPlaces(undefined), domains: ['tills.example'] }) };
    const rows = [JSON.stringify(properties), escaped].flatMap(
      (json) => columnarEvents(viewsOf([entryOf(json)]), testPhoneHmac, locating).rows,
    );
    for (const [at, row] of rows.entries()) await insertBlock(database.warehouse, 'event_rows', `block ${at}`, [row]);
    const found = await rowsOf(
      database,
      "SELECT DISTINCT replaceAll(arrival, '\\n', '|') AS told, visit_key != 0 AS isOf, visit_key % 2 AS isTold FROM events",
    );
    const told = isTold === null ? { isOf: 0, isTold: 0 } : { isOf: 1, isTold: Number(isTold) };
    expect(found).toEqual([{ told: arrival, ...told }]);
  },
);

test('a block of records from before and after a renewal of places has the place that each had', async () => {
  const database = await create.migrated();
  const entries = ['a', 'b', 'c'].map(
    (event_id): EventEntry => ({
      ...{ person: null, coordinate: null, event: sampleEvent({ ...belgian, event_id }) },
    }),
  );
  const [first, second, third] = viewsOf(entries);
  const rows = [
    ...columnarEvents([first as EncodedEvent], testPhoneHmac, belgium()).rows,
    ...columnarEvents([second as EncodedEvent], testPhoneHmac).rows,
    ...columnarEvents([third as EncodedEvent], testPhoneHmac, belgium(2)).rows,
  ];
  await insertBlock(database.warehouse, 'event_rows', 'block', rows);
  expect(await rowsOf(database, 'SELECT event_id, geo_city, browser FROM events ORDER BY event_id')).toEqual([
    { event_id: 'a', geo_city: 'Ghent', browser: 'Chrome' },
    { event_id: 'b', geo_city: '', browser: 'Chrome' },
    { event_id: 'c', geo_city: 'Ghent', browser: 'Chrome' },
  ]);
});

test('rows of wrong types are refused, unknown columns and tables are the table’s fault, without rows in the error', async () => {
  const database = await create.migrated();
  const wrong = [
    { ...row({}), timestamp: 'yesterday' },
    { ...row({}), value: 'much' },
    { ...row({}), raw_offset: 'secret' },
    { ...row({}), identify: 'perhaps' },
    { ...row({}), site_id: null },
  ];
  for (const [index, one] of wrong.entries()) {
    const inserting = insertBlock(database.warehouse, 'event_rows', `wrong-${index}`, [one]);
    await expect(inserting, `case ${index}`).rejects.toMatchObject({ code: 'warehouse_refused' });
    await expect(inserting).rejects.not.toThrow(/secret|yesterday|much|perhaps/);
  }
  const atFault = { code: 'warehouse_mismatch', recovery: 'wait' };
  const column = insertBlock(database.warehouse, 'event_rows', 'column', [{ ...row({}), unknown_column: 'secret' }]);
  await expect(column).rejects.toMatchObject(atFault);
  await expect(column).rejects.not.toThrow(/secret/);
  const nowhere = insertBlock(database.warehouse, 'no_such_table', 'token', [row({})]);
  await expect(nowhere).rejects.toMatchObject(atFault);
});
