import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { type Answer, newEvent, postBody } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const DAY_MS = 86_400_000;
const YEAR_DAYS = 365;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const PHONE_BROWSER = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148';

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

interface Row {
  event: string;
  event_id: string;
  distinct_id: string;
  timestamp_ms: number;
  original_timestamp: string | null;
  received_ms: number;
  properties: string;
}

const send = (events: readonly unknown[], headers: Record<string, string> = {}): Promise<Answer> =>
  postBody(edge, site.serverKey, JSON.stringify({ events }), headers);

/** The rows of an event name, once there are as many. */
function rowsOf(event: string, count = 1): Promise<Row[]> {
  const query = `SELECT event, event_id, distinct_id, toInt64(toUnixTimestamp64Milli(timestamp)) AS timestamp_ms,
      original_timestamp,
      toInt64(toUnixTimestamp64Milli(received_at)) AS received_ms, properties
    FROM events WHERE site_id = {site:String} AND event = {event:String} ORDER BY event_id`;
  return until(
    `${count} rows of ${event}`,
    async () => (await select<Row>(clickhouse, query, { site: site.site, event })).map(numbered),
    (rows) => rows.length >= count,
  );
}

const numbered = (row: Row): Row => ({
  ...row,
  timestamp_ms: Number(row.timestamp_ms),
  received_ms: Number(row.received_ms),
});

const iso = (daysAhead: number): string => new Date(Date.now() + daysAhead * DAY_MS).toISOString();

const REJECTED: [what: string, event: unknown, code: string][] = [
  ['no name', { uuid: 'a' }, 'event_name_missing'],
  ['an empty name', newEvent({ event: '  ' }), 'event_name_missing'],
  ['a name that is no text', { ...newEvent(), event: 7 }, 'event_name_invalid'],
  ['a name with a control character', newEvent({ event: 'a\u0007b' }), 'event_name_invalid'],
  ['a name of 201 characters', newEvent({ event: 'n'.repeat(201) }), 'event_name_too_long'],
  ['a uuid that is no text', { ...newEvent(), uuid: 7 }, 'uuid_invalid'],
  ['a uuid of 201 characters', newEvent({ uuid: 'u'.repeat(201) }), 'uuid_invalid'],
  ['a distinct_id that is no text', { ...newEvent(), distinct_id: 7 }, 'distinct_id_invalid'],
  ['a distinct_id of 201 characters', newEvent({ distinct_id: 'd'.repeat(201) }), 'distinct_id_invalid'],
  ['a timestamp that is no text', { ...newEvent(), timestamp: 1_763_632_800 }, 'timestamp_invalid'],
  ['a day that is none', newEvent({ timestamp: '2026-02-30T10:00:00Z' }), 'timestamp_invalid'],
  ['a timestamp two years old', newEvent({ timestamp: iso(-2 * YEAR_DAYS - 2) }), 'timestamp_too_old'],
  ['properties that are a list', { ...newEvent(), properties: [1] }, 'properties_not_object'],
  ['properties that are a text', { ...newEvent(), properties: 'a' }, 'properties_not_object'],
  ['an event that is no object', 'page_view', 'event_not_object'],
];

test.for(REJECTED)('%s is rejected', async ([, event, code]) => {
  expect(await send([event])).toMatchObject({ status: 400, body: { rejected: [{ index: 0, code }] } });
});

test('a name is trimmed; it may have 200 characters and begin with a dollar sign', async () => {
  const longest = `$${'n'.repeat(199)}`;
  expect(await send([newEvent({ event: '  spaced name ' }), newEvent({ event: longest })])).toMatchObject({
    status: 200,
  });
  expect(await rowsOf('spaced name')).toHaveLength(1);
  expect(await rowsOf(longest)).toHaveLength(1);
});

test('a uuid is the id of the event, a well-formed one in lower case', async () => {
  const capital = newEvent({ event: 'capital', uuid: '0E9C4F2A-63F3-4B7A-9C4C-9C2A6C1D1B11' });
  const plain = newEvent({ event: 'plain id', uuid: 'Order-17' });
  await send([capital, plain]);
  expect(await rowsOf('capital')).toMatchObject([{ event_id: '0e9c4f2a-63f3-4b7a-9c4c-9c2a6c1d1b11' }]);
  expect(await rowsOf('plain id')).toMatchObject([{ event_id: 'Order-17' }]);
});

test('without a uuid an event with a time of its own is recognised, one without is new each time', async () => {
  const timed = { event: 'timed', distinct_id: 'v', timestamp: iso(-1), properties: { a: 1, b: 2 } };
  const untimed = { event: 'untimed', distinct_id: 'v' };
  await send([timed, untimed]);
  await send([{ ...timed, properties: { b: 2, a: 1 } }, untimed]);
  await send([{ ...timed, properties: { a: 1, b: 3 } }]);
  const fresh = await rowsOf('untimed', 2);
  expect(fresh).toHaveLength(2);
  for (const { event_id } of fresh) expect(event_id).toMatch(UUID_V7);
  expect(await rowsOf('timed', 2)).toHaveLength(2);
});

test('the default distinct_id is anonymous: one for a device, another for another', async () => {
  const event = { event: 'anonymous' };
  await send([event]);
  await send([event]);
  await send([event], { 'user-agent': PHONE_BROWSER });
  const ids = (await rowsOf('anonymous', 3)).map(({ distinct_id }) => distinct_id);
  for (const id of ids) expect(id).toMatch(/^anon_[a-z2-7]{26}$/);
  expect(new Set(ids).size).toBe(2);
});

test('the default timestamp is the arrival', async () => {
  await send([newEvent({ event: 'now' })]);
  const [row] = await rowsOf('now');
  expect(row?.timestamp_ms).toBe(row?.received_ms);
});

test('a timestamp is kept, whatever its offset; one far ahead gives way to the arrival and stays beside it', async () => {
  const ahead = iso(3);
  const events = [
    newEvent({ event: 'offset', timestamp: iso(-5 + 2 / 24).replace('Z', '+02:00') }),
    newEvent({ event: 'old', timestamp: iso(-YEAR_DAYS) }),
    newEvent({ event: 'soon', timestamp: iso(0.5) }),
    newEvent({ event: 'ahead', timestamp: ahead }),
  ];
  expect(await send(events)).toMatchObject({ body: { accepted: 4 } });
  expect(await rowsOf('offset')).toMatchObject([
    { timestamp_ms: Date.parse(events[0]?.timestamp ?? ''), original_timestamp: null },
  ]);
  expect(await rowsOf('old')).toMatchObject([{ timestamp_ms: Date.parse(events[1]?.timestamp ?? '') }]);
  expect(await rowsOf('soon')).toMatchObject([{ timestamp_ms: Date.parse(events[2]?.timestamp ?? '') }]);
  const [row] = await rowsOf('ahead');
  expect([row?.timestamp_ms, row?.original_timestamp]).toEqual([row?.received_ms, ahead]);
});

test('properties are kept as they are, and may be missing', async () => {
  const properties = { colour: 'green', sizes: [1, 2.5, null], nested: { deep: { yes: true } }, 'odd key': 'ok' };
  await send([newEvent({ event: 'full', properties }), newEvent({ event: 'bare' })]);
  const [full] = await rowsOf('full');
  expect(JSON.parse(full?.properties ?? '')).toEqual(properties);
  const [bare] = await rowsOf('bare');
  expect(JSON.parse(bare?.properties ?? '')).toEqual({});
});
