import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { createPacer } from '#services/cli/import/edge_client.ts';
import { type HistoryFormat, historicalEvent, type ImportPlan, importFile } from '#services/cli/import/import_file.ts';
import { fileVersion, readLinesForm } from '#services/cli/import/read_rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'history-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (format: HistoryFormat, row: object) => historicalEvent(Buffer.from(JSON.stringify(row)), format, 'shop');

test('a placeholder for an id is no id of a row', () => {
  for (const uuid of ['undefined', 'null', '00000000-0000-0000-0000-000000000000', '0', 'N/A', false, {}]) {
    const row = { uuid, event: 'purchase', distinct_id: 'u', timestamp: '2025-01-01T00:00:00Z' };
    expect(read('ndjson', row), JSON.stringify(uuid)).toMatchObject({ ok: true, key: { by: 'contents' } });
    if (typeof uuid === 'string')
      expect(read('posthog', row), uuid).toMatchObject({ ok: true, key: { by: 'contents' } });
  }
});

/** A row as `bq extract --destination_format NEWLINE_DELIMITED_JSON` writes it. */
const GA4_ROW = {
  event_date: '20210131',
  event_timestamp: '1612069510766593',
  event_name: 'purchase',
  event_params: [
    { key: 'ga_session_id', value: { int_value: '661084800' } },
    { key: 'page_location', value: { string_value: 'https://shop.example/thanks?utm_source=news' } },
    { key: 'currency', value: { string_value: 'EUR' } },
    { key: 'value', value: { double_value: 30.5 } },
  ],
  privacy_info: { analytics_storage: 'Yes', ads_storage: 'No' },
  user_pseudo_id: '1026454.4271112504',
  device: { category: 'mobile', language: 'de-de', web_info: { browser: 'Safari', browser_version: '14.0' } },
  geo: { continent: 'Europe', country: 'Germany', city: '(not set)' },
  collected_traffic_source: { manual_medium: 'email' },
  ecommerce: { transaction_id: '48', purchase_revenue: 30.5 },
  items: [{ item_id: 'A1', item_name: 'Mug', price: 15.25, quantity: '2', price_in_usd: 18, item_brand: '(not set)' }],
};

describe('a row of GA4’s export', () => {
  test('is the event that the Measurement Protocol would have sent', () => {
    const outcome = read('ga4', GA4_ROW);
    expect(outcome).toMatchObject({
      ok: true,
      timeMs: 1_612_069_510_766,
      key: { by: 'contents' },
      event: {
        event: 'purchase',
        timestamp: '2021-01-31T05:05:10.766Z',
        distinct_id: '1026454.4271112504',
        properties: {
          order_id: '48',
          value: 30.5,
          currency: 'EUR',
          country: 'DE',
          utm_source: 'news',
          utm_medium: 'email',
          $session_id: '661084800',
          page_location: 'https://shop.example/thanks?utm_source=news',
          consent: { analytics_storage: 'GRANTED', ad_storage: 'DENIED' },
          items: [{ item_id: 'A1', item_name: 'Mug', price: 15.25, quantity: 2 }],
          $lib: 'ga4_export',
        },
      },
    });
    expect(outcome.ok && outcome.event.properties).not.toHaveProperty('city');
  });

  test('is the same event whatever attribution is added to it later', () => {
    const later = { ...GA4_ROW, is_active_user: true, session_traffic_source_last_click: { x: 1 } };
    expect(read('ga4', later)).toEqual(read('ga4', GA4_ROW));
    expect(read('ga4', { ...GA4_ROW, batch_event_index: '2' })).not.toEqual(read('ga4', GA4_ROW));
  });

  test.each([
    [{ user_pseudo_id: null }, 'visitor_missing'],
    [{ event_name: undefined }, 'event_missing'],
    [{ event_timestamp: undefined }, 'time_missing'],
    [{ event_timestamp: 'soon' }, 'time_unreadable'],
    [{ event_params: '[{"key":"value"}]' }, 'row_unreadable'],
    [{ items: { item_id: 'A1' } }, 'row_unreadable'],
  ])('with %j: %s', (changes, problem) => {
    expect(read('ga4', { ...GA4_ROW, ...changes })).toMatchObject({ ok: false, problem });
  });
});

test('a row of PostHog’s export is the event that its library sent, with its id', () => {
  const row = {
    uuid: '017a5b2c-0000-7000-8000-000000000001',
    event: '$identify',
    distinct_id: 'ann',
    timestamp: '2021-06-30 12:34:56.789000+00:00',
    properties: '{"$anon_distinct_id":"browser-1","token":"phc_x","plan":"pro"}',
    person_properties: '{"email":"ann@example.com"}',
    set: '{"plan":"pro"}',
  };
  expect(read('posthog', row)).toEqual({
    ok: true,
    timeMs: Date.UTC(2021, 5, 30, 12, 34, 56, 789),
    key: { by: 'uuid', uuid: row.uuid },
    event: {
      event: '$identify',
      timestamp: '2021-06-30T12:34:56.789Z',
      distinct_id: 'ann',
      properties: { $anon_distinct_id: 'browser-1', plan: 'pro', $set: { plan: 'pro' }, external_id: 'ann' },
    },
  });
});

test('a refund of GA4’s export is worth what was paid back', () => {
  const ecommerce = { transaction_id: '48', refund_value: 12.5 };
  const outcome = read('ga4', { ...GA4_ROW, event_name: 'refund', event_params: [], ecommerce });
  expect(outcome).toMatchObject({ event: { event: 'refund', properties: { order_id: '48', value: 12.5 } } });
});

const NAMED = { event: 'seen', distinct_id: 'ann', timestamp: '2021-01-31T05:05:10Z' };

test.each([
  ['2021-01-31 05:05:10 UTC', '2021-01-31T05:05:10.000Z'],
  ['2021-01-31 05:05:10.766593 UTC', '2021-01-31T05:05:10.766Z'],
  ['2021-01-31T07:05:10+02:00', '2021-01-31T05:05:10.000Z'],
  [1_612_069_510, '2021-01-31T05:05:10.000Z'],
  [1_612_069_510_766, '2021-01-31T05:05:10.766Z'],
  ['1612069510766593', '2021-01-31T05:05:10.766Z'],
])('the time %j is %s', (timestamp, instant) => {
  expect(read('ndjson', { ...NAMED, timestamp })).toMatchObject({ event: { timestamp: instant } });
});

test.each(['posthog', 'ndjson'] as const)('ids that are numbers stay as they are, in %s', (format) => {
  const raw = '{"event":"seen","distinct_id":12345678901234567890,"uuid":7,"timestamp":"2021-01-31"}';
  expect(historicalEvent(Buffer.from(raw), format, 'shop')).toMatchObject({
    key: { by: 'uuid', uuid: '7' },
    event: { distinct_id: '12345678901234567890' },
  });
});

test.each([
  ['posthog', { ...NAMED, timestamp: undefined, offset: 500 }, 'time_missing'],
  ['posthog', { ...NAMED, properties: 'plan=pro' }, 'row_unreadable'],
  ['posthog', { ...NAMED, properties: `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}` }, 'row_unreadable'],
  ['ndjson', { ...NAMED, properties: ['pro'] }, 'row_unreadable'],
] as const)('of %s %j is no row: %s', (format, row, problem) => {
  expect(read(format, row)).toMatchObject({ ok: false, problem });
});

async function planOf(path: string, changes: Partial<ImportPlan> = {}): Promise<ImportPlan> {
  const [version, form] = [await fileVersion(path), await readLinesForm(path)];
  return { path, version, site: 'shop', form, clickhouse: null, mapping: 'ndjson', folder, isAgain: false, ...changes };
}

function edge() {
  const bodies: { historical_migration?: boolean; events: { uuid: string }[] }[] = [];
  return {
    bodies,
    ports: {
      async post(body: string) {
        const sent = JSON.parse(body) as (typeof bodies)[number];
        bodies.push(sent);
        const answer = { accepted: sent.events.length };
        return { status: 200, retryAfter: null, body: JSON.stringify(answer) };
      },
      sleep: async () => undefined,
      onWait: () => undefined,
      say: () => undefined,
      nowMs: () => Date.UTC(2026, 10, 27),
      attemptsMax: 3,
    },
  };
}

const ROW = { event: 'seen', distinct_id: 'ann', timestamp: '2019-01-01T00:00:00Z' };

test('a packed file is sent as historical, the same ids each time, and its errors are beside it in the clear', async () => {
  const path = join(folder, 'old.ndjson.gz');
  writeFileSync(path, gzipSync([ROW, ROW, { ...ROW, timestamp: 'soon' }].map((row) => JSON.stringify(row)).join('\n')));
  const [first, again] = [edge(), edge()];
  const { counts, errorsPath } = await importFile(await planOf(path), first.ports);
  expect(counts).toMatchObject({ rows: 3, accepted: 2, failed: { time_unreadable: 1 }, late: 0 });
  expect(errorsPath).toBe(join(folder, 'old.errors.ndjson'));
  expect(readFileSync(errorsPath ?? '', 'utf8')).toContain('"import_error":"time_unreadable"');
  await importFile(await planOf(path, { isAgain: true }), again.ports);
  expect(again.bodies).toEqual(first.bodies);
  const ids = first.bodies.flatMap(({ events }) => events.map(({ uuid }) => uuid));
  expect([first.bodies[0]?.historical_migration, new Set(ids).size]).toEqual([true, 2]);
});

const SENT = { ...ROW, timestamp: '2019-01-01T00:00:00.000Z' };

/** What became of the lines of a file, and the ids of those that were sent. */
async function imported(name: string, content: Buffer | string) {
  const path = join(folder, name);
  writeFileSync(path, content);
  const sent = edge();
  const { counts } = await importFile(await planOf(path), sent.ports);
  return { failed: counts.failed, events: sent.bodies.flatMap(({ events }) => events) };
}

test.each([
  ['marked.ndjson', (text: string) => text],
  ['marked.ndjson.gz', (text: string) => gzipSync(text)],
])('a byte order mark begins no row less, in %s', async (name, pack) => {
  const line = JSON.stringify(ROW);
  expect(await imported(name, pack(`\uFEFF${line}\r\n\r\n\uFEFF${line}`))).toMatchObject({
    failed: {},
    events: [SENT, SENT],
  });
});

test('a row that is nested too deep, or in another encoding, fails by itself', async () => {
  const deep = `{"event":"seen","distinct_id":"ann","timestamp":"2019-01-01","properties":{"a":${'{"b":'.repeat(5_000)}1${'}'.repeat(5_001)}}`;
  const latin = Buffer.from(`${JSON.stringify({ ...ROW, distinct_id: 'René' })}\n`, 'latin1');
  const lines = Buffer.concat([Buffer.from(`${deep}\n`), latin, Buffer.from(JSON.stringify(ROW))]);
  expect(await imported('broken.ndjson', lines)).toMatchObject({
    failed: { row_too_deep: 1, encoding_invalid: 1 },
    events: [SENT],
  });
});

test.each([
  ['list.json', JSON.stringify([ROW]), 'jq'],
  ['rows.parquet', 'PAR1', 'Parquet'],
])('%s is refused whole, with what to do', async (name, content, word) => {
  await expect(imported(name, content)).rejects.toMatchObject({
    code: 'format_unknown',
    message: expect.stringContaining(word),
  });
});

test('a packed file that is cut off is refused at its end, and goes on when it is whole', async () => {
  const path = join(folder, 'cut.ndjson.gz');
  const whole = gzipSync(
    Array.from({ length: 500 }, (_, at) => JSON.stringify({ ...ROW, uuid: `id ${at}` })).join('\n'),
  );
  writeFileSync(path, whole.subarray(0, whole.length - 20));
  await expect(importFile(await planOf(path), edge().ports)).rejects.toMatchObject({ code: 'file_corrupt' });
});

test('events are spread over time', async () => {
  const slept: number[] = [];
  let nowMs = 1_000;
  const pace = createPacer(100, {
    nowMs: () => nowMs,
    async sleep(ms) {
      slept.push(ms);
    },
  });
  await pace(50);
  await pace(50);
  await pace(10);
  nowMs += 5_000;
  await pace(50);
  expect(slept).toEqual([500, 1_000]);
});
