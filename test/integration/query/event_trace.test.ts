import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { DeadLettersError, SearchBusyError } from '#infra/redelivery/dead_letter_store.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import { attemptsStatement, storedEventStatement } from '#pipelines/analytics/event_trace/trace.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { shownDeadLetter } from '#test/unit/control/memory_letters.ts';
import { START, storedRow } from './few_rows.ts';
import { type QueryWorld, useQueryWorld } from './query_world.ts';
import { commandLine } from './typed_command.ts';

const create = useQueryWorld();
const ID = '018F3A2B-0000-7000-8000-0000000000AA';
const STORED_ID = ID.toLowerCase();
const OLD = basePersonId('shop', 'old');
const SHA256 = '0a1b2c3d'.repeat(8);
const identifiers = {
  ...{ email: SHA256, email_google: null, email_stripped: null, phone: null, phone_digits: null },
  ...{ first_name: null, first_name_google: null, last_name: null, last_name_google: null, external_id: null },
};

const outcome = (attempt: number, outcome: string, reason: string, answer_status: number, answer: string) => ({
  ...{ site_id: 'shop', destination: 'webhook', event_id: STORED_ID, event: 'purchase' },
  ...{ coordinate_partition: 0, coordinate_offset: 1, coordinate_index: 0, outcome, reason, attempt },
  ...{ received_at: START + 61_000, attempted_at: START + attempt * 120_000, took_ms: 12, answer_status, answer },
});

const copy = {
  ...{
    site_id: 'shop',
    event_id: STORED_ID,
    event: 'refund',
    received_at: START + 62_000,
    key_id: '9f86d081884c7d65',
    times: 2,
  },
  ...{ raw_partition: 0, raw_offset: 9, raw_index: 1, first_partition: 0, first_offset: 3, first_index: 0 },
};

/** A visitor who signs up and buys, and turns out to be an older person; the webhook takes the purchase at last. */
async function shop(): Promise<QueryWorld> {
  const world = await create();
  await world.store([
    [
      storedRow('a', 'sign_up', 0, { identify: true, identifiers }),
      {
        ...storedRow('a', 'purchase', 1, { event_id: STORED_ID, identify: false, identifiers: null }),
        ...{ key_id: '9f86d081884c7d65', raw_offset: 3 },
      },
    ],
  ]);
  await world.link([
    {
      ...{ site_id: 'shop', kind: 'person', person_id: basePersonId('shop', 'a'), target: OLD },
      ...{ first_seen: START - 1_000, version: (START + 90_000) * 1_000 },
    },
  ]);
  const { warehouse } = world.database;
  await insertBlock(warehouse, 'delivery_outcomes', 'outcomes', [
    outcome(1, 'diverted', 'http_503', 503, 'not now'),
    outcome(2, 'delivered', '', 200, 'thanks'),
  ]);
  await warehouse.command({ query: 'ALTER TABLE duplicates MODIFY TTL toDateTime(received_at) + INTERVAL 50 YEAR' });
  // The same rows under another token, as when the first one is forgotten.
  for (const token of ['duplicates', 'duplicates-again']) await insertBlock(warehouse, 'duplicates', token, [copy]);
  return world;
}

test('one event is asked by its id, in whatever case it was sent', async () => {
  const { control } = await shop();
  const { status, body } = await control.call('GET', `/v1/query/shop/events/${ID}`);
  expect(status).toBe(200);
  const trace = body as EventTrace;
  expect(trace.row).toMatchObject({ event: 'purchase', distinct_id: 'a' });
  expect(trace.duplicates).toEqual({
    seen: 2,
    copies: [
      {
        received_at: START + 62_000,
        event: 'refund',
        key: { key_id: '9f86d081884c7d65', shown_prefix: null, label: null },
        coordinate: { partition: 0, offset: 9, index: 1 },
        times: 2,
      },
    ],
  });
  expect(trace.person).toEqual({
    person_id: OLD,
    arrived_person_id: basePersonId('shop', 'a'),
    distinct_person_id: basePersonId('shop', 'a'),
    links: [{ person_id: basePersonId('shop', 'a'), target: OLD, since: START + 90_000, first_seen: START - 1_000 }],
    identified_by: [{ identifier: 'email', digest_begin: '0a1b2c3d', since: START + 1_000, event_id: 'a-sign_up-0' }],
  });
  expect(trace.destinations).toMatchObject([
    {
      destination: 'webhook',
      state: 'delivered',
      attempts: [{ answer: { status: 503, body: 'not now' } }, { outcome: 'delivered' }],
    },
  ]);
  expect(JSON.stringify(trace)).not.toContain(SHA256);
});

test('the command line tells it in sentences, and the attempts as a table', async () => {
  const svc = commandLine(await shop(), START);
  expect((await svc('event', 'show', 'shop', ID)).stdout).toMatchInlineSnapshot(`
    "Accepted 2026-10-05T12:01:01.000Z with the browser key of SHA-256 9f86d081884c7d65…, as event 0 of events.raw 0/3.
    Stored as "purchase" of distinct id "a", happened 2026-10-05T12:01:00.000Z.
    It came 2 times more, 2026-10-05T12:01:02.000Z, and was dropped as a duplicate.
    Copies were called "refund": one id was given to several events, of which the first counts.
    Its person is p_f5f13928a4306e96e92db6ee5420164a: p_42636512cf1a9c238a5cb7f84fc61ecb, whom its distinct id stands for, became part of them 2026-10-05T12:01:30.000Z.
    The distinct id was first identified by email (SHA-256 0a1b2c3d…) 2026-10-05T12:00:01.000Z, by event "a-sign_up-0".
    webhook: delivered 2026-10-05T12:04:00.000Z, attempted 2 times, answered 200.

    DESTINATION  ATTEMPT  MADE                  OUTCOME    REASON    TOOK   ANSWER
    webhook      1        2026-10-05T12:02:00Z  diverted   http_503  12 ms  503 not now
    webhook      2        2026-10-05T12:04:00Z  delivered  -         12 ms  200 thanks
    "
  `);
  expect((await svc('event', 'show', 'shop')).stderr).toContain('svc: argument_missing: ');
  expect((await svc('event', 'show', 'shop', 'nobody-knows')).stderr).toContain('svc: event_unknown: ');
});

test('an event without a row is looked for among the dead letters; of another site it is unknown', async () => {
  const { control } = await create();
  control.deadLetters.deadLetters = [shownDeadLetter(7)];
  const found = await control.call('GET', '/v1/query/shop/events/event-7');
  expect(found.body).toMatchObject({ row: null, dead_letters: [{ id: 'dedup-0-7', reason: 'transform_failed' }] });
  await control.call('POST', 'sites', { body: { site_id: 'other', account_id: 'acme' } });
  for (const [path, code] of [
    ['other/events/event-7', 'event_unknown'],
    ['nowhere/events/event-7', 'site_unknown'],
    [`shop/events/${encodeURIComponent('/'.repeat(200))}`, 'event_unknown'],
  ] as const) {
    const { status, body } = await control.call('GET', `/v1/query/${path}`);
    expect([status, body.error.code]).toEqual([404, code]);
  }
  expect((await control.call('GET', `/v1/query/shop/events/${'x'.repeat(201)}`)).status).toBe(400);
  control.deadLetters.failure = new DeadLettersError('away');
  const away = await control.call('GET', '/v1/query/shop/events/event-7');
  expect([away.status, away.body.error.code]).toEqual([503, 'dead_letters_unavailable']);
  control.deadLetters.failure = new SearchBusyError();
  const busy = await control.call('GET', '/v1/query/shop/events/event-7');
  expect([busy.status, busy.body.error.code]).toEqual([429, 'query_busy']);
});

/** The indexes leave one granule of events and two of outcomes; without them all is read. */
const MANY = 100_000;
const GRANULE = 8_192;

/** Rows that ClickHouse reads for a statement. */
async function rowsRead(
  { database }: QueryWorld,
  { sql, parameters }: Statement,
  use_skip_indexes: 0 | 1 = 1,
): Promise<number> {
  const result = await database.warehouse.query({
    query: sql,
    query_params: parameters,
    format: 'JSONEachRow',
    clickhouse_settings: { wait_end_of_query: 1, use_skip_indexes },
  });
  expect(await result.json()).toHaveLength(1);
  const summary = JSON.parse(String(result.response_headers['x-clickhouse-summary'])) as { read_rows: string };
  return Number(summary.read_rows);
}

test(`one of ${MANY} events is found by reading a few granules of each table`, { timeout: 120_000 }, async () => {
  const world = await create();
  const moment = "toDateTime64('2026-10-05 12:00:00', 3, 'UTC') + number";
  for (const query of [
    `INSERT INTO event_rows (site_id, event_id, distinct_id, event, timestamp, received_at)
     SELECT 'shop', 'e' || toString(number), 'v' || toString(number % 5000), 'page_view', ${moment}, ${moment} FROM numbers(${MANY})`,
    `INSERT INTO delivery_outcomes (site_id, destination, event_id, outcome, attempted_at)
     SELECT 'shop', 'webhook', 'e' || toString(number), 'delivered', ${moment} FROM numbers(${MANY})`,
  ]) {
    await world.database.warehouse.command({ query });
  }
  const read = {
    event_rows: await rowsRead(world, storedEventStatement('shop', 'e12345')),
    delivery_outcomes: await rowsRead(world, attemptsStatement('shop', 'e12345')),
  };
  expect(Math.max(...Object.values(read)), JSON.stringify(read)).toBeLessThanOrEqual(3 * GRANULE);
  expect(await rowsRead(world, storedEventStatement('shop', 'e12345'), 0)).toBeGreaterThanOrEqual(MANY);
});
