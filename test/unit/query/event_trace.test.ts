import { expect, test } from 'vitest';
import {
  type AttemptRow,
  eventTrace,
  type StoredEventRow,
  type TraceSources,
} from '#pipelines/analytics/event_trace/trace.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';

const AT = Date.UTC(2026, 9, 5, 12);
const BASE = basePersonId('shop', 'till-7');

const storedRow = (changes: Partial<StoredEventRow> = {}): StoredEventRow => ({
  ...{ event: 'purchase', happened: AT, received: AT + 1_000, original_timestamp: null, distinct_id: 'till-7' },
  ...{ arrived_person: BASE, person: BASE, mode: 'online', action_source: 'website', caller: 'server' },
  ...{ identify: true, email_sha256: '0a1b2c3d4e5f', phone_hmac: '', first_name_sha256: '', last_name_sha256: '' },
  ...{ external_id_sha256: '', city: '', state: '', zip: '', country: 'BE', client_ip: '', client_user_agent: '' },
  ...{ value: 12.5, currency: 'EUR', order_id: '7', properties: '{"plan":"paid"}' },
  ...{ ad_storage: 'granted', analytics_storage: '', ad_user_data: 'denied', ad_personalization: 'denied' },
  ...{ consent_defaults: 'ad_user_data,ad_personalization', limited_data_use: false, historical: false },
  ...{ geo_country: '', geo_region: '', geo_city: '', browser: '', browser_version: '', os: '', os_version: '' },
  ...{ device_type: '', language: '', screen_class: '' },
  ...{ raw_partition: 1, raw_offset: 20, raw_index: 2, key_id: '' },
  ...changes,
});

const attempt = (
  destination: string,
  number: number,
  outcome: string,
  changes: Partial<AttemptRow> = {},
): AttemptRow => ({
  ...{ destination, attempt: number, attempted: AT + number * 60_000, received: AT + 1_000, outcome },
  ...{ reason: outcome === 'delivered' ? '' : 'http_500', took_ms: 40, answer_status: 200, answer: 'ok' },
  ...changes,
});

function trace(changes: Partial<TraceSources> = {}) {
  const nothing = {
    attempts: [],
    duplicates: [],
    links: [],
    identified: [],
    deadLetters: null,
    destinations: [],
    keys: [],
  };
  const found = eventTrace({ siteId: 'shop', eventId: 'e1', rows: [storedRow()], ...nothing, ...changes });
  if (found === null) throw new Error('nothing is known of it');
  return found;
}

test('an event is told from its acceptance to its row and its person', () => {
  const { accepted, row, status } = trace();
  expect(accepted).toEqual({
    received_at: AT + 1_000,
    caller: 'server',
    key: null,
    coordinate: { partition: 1, offset: 20, index: 2 },
  });
  expect(row).toMatchObject({ timestamp: AT, identifiers: { email: '0a1b2c3d' }, properties: { plan: 'paid' } });
  expect(status).toEqual([
    'Accepted 2026-10-05T12:00:01.000Z with a server key, as event 2 of events.raw 1/20.',
    'Stored as "purchase" of distinct id "till-7", happened 2026-10-05T12:00:00.000Z.',
    'Consent: ad_storage granted, ad_user_data denied by default, ad_personalization denied by default.',
    `Its person is ${BASE}, whom its distinct id stands for by itself.`,
  ]);
});

test('an event that was brought in of the past is told to be so', () => {
  expect(trace({ rows: [storedRow({ historical: true })] }).status).toContain(
    'Stored as "purchase" of distinct id "till-7", happened 2026-10-05T12:00:00.000Z, brought in of the past.',
  );
});

test('the key is named as lists of keys show it, and by its id once it is gone', () => {
  const rows = [storedRow({ key_id: '9f86d081884c7d65' })];
  const keys = [{ keyId: '9f86d081884c7d65', shownPrefix: 'svc_sk_AbCd', label: 'till' }];
  expect(trace({ rows, keys }).status[0]).toContain('with the server key svc_sk_AbCd… (till), as event 2');
  expect(trace({ rows }).status[0]).toContain('with the server key of SHA-256 9f86d081884c7d65…, as event 2');
  expect(trace({ rows }).accepted?.key).toEqual({ key_id: '9f86d081884c7d65', shown_prefix: null, label: null });
});

test('copies are counted, with when each came and by which key', () => {
  const copy = { event: 'purchase', key_id: '', raw_partition: 1, raw_offset: 21, raw_index: 0 };
  const duplicates = [
    { ...copy, received: AT + 2_000, times: 1 },
    { ...copy, received: AT + 3_000, times: 4, raw_offset: 22 },
  ];
  const { duplicates: traced, status } = trace({ duplicates });
  expect(traced.seen).toBe(5);
  expect(traced.copies[1]).toEqual({
    ...{ received_at: AT + 3_000, event: 'purchase', key: null, times: 4 },
    coordinate: { partition: 1, offset: 22, index: 0 },
  });
  expect(status[3]).toBe(
    'It came 5 times more, 2026-10-05T12:00:02.000Z to 2026-10-05T12:00:03.000Z, and was dropped as a duplicate.',
  );
});

test('copies of other names are said to be other events under one id', () => {
  const copy = { key_id: '', raw_partition: 1, raw_offset: 21, raw_index: 0, received: AT, times: 1 };
  const named = (...events: string[]): string[] =>
    trace({ duplicates: events.map((event) => ({ ...copy, event })) }).status.filter((line) =>
      line.startsWith('Copies'),
    );
  expect(named('', 'purchase')).toEqual([]);
  expect(named('refund', 'purchase', 'refund', 'view')).toEqual([
    'Copies were called "refund", "view": one id was given to several events, of which the first counts.',
  ]);
});

test('a merged person is told with the link and since when, and by what the visitor was identified', () => {
  const links = [{ person: BASE, merged_into: 'p_old', newest: (AT + 5_000) * 1_000 + 7, seen: AT - 9_000 }];
  const identified = [{ identifier: 'email' as const, digest: 'ffee00112233', since: AT - 1_000, by_event: 'e0' }];
  const { person, status } = trace({ rows: [storedRow({ person: 'p_old' })], links, identified });
  expect(person).toEqual({
    person_id: 'p_old',
    arrived_person_id: BASE,
    distinct_person_id: BASE,
    links: [{ person_id: BASE, target: 'p_old', since: AT + 5_000, first_seen: AT - 9_000 }],
    identified_by: [{ identifier: 'email', digest_begin: 'ffee0011', since: AT - 1_000, event_id: 'e0' }],
  });
  expect(status.slice(3)).toEqual([
    `Its person is p_old: ${BASE}, whom its distinct id stands for, became part of them 2026-10-05T12:00:05.000Z.`,
    'The distinct id was first identified by email (SHA-256 ffee0011…) 2026-10-05T11:59:59.000Z, by event "e0".',
  ]);
});

test('each destination has its state, by its attempts or by the settings', () => {
  const destinations = [
    { name: 'crm', enabled: false, createdAtMs: null },
    { name: 'late', enabled: true, createdAtMs: AT + 2_000 },
    { name: 'meta', enabled: true, createdAtMs: null },
    { name: 'slow', enabled: true, createdAtMs: null },
  ];
  const attempts = [
    attempt('ga4', 1, 'skipped', { reason: 'too_old', took_ms: 0, answer_status: 0, answer: '' }),
    attempt('meta', 3, 'dead', { reason: 'http_400' }),
    attempt('meta', 2, 'delivered'),
    attempt('meta', 1, 'diverted', { answer_status: 500, answer: 'try later' }),
    attempt('tiktok', 1, 'diverted', { answer_status: 0, answer: '', reason: 'timeout' }),
    attempt('webhook', 1, 'dead', { reason: 'http_410', answer_status: 410, answer: 'gone' }),
  ];
  const { destinations: traced, status } = trace({ attempts, destinations });
  expect(traced.map(({ destination, state, reason }) => [destination, state, reason])).toEqual([
    ['crm', 'not_attempted', 'destination_disabled'],
    ['ga4', 'skipped', 'too_old'],
    ['late', 'not_attempted', 'before_destination'],
    ['meta', 'delivered', ''],
    ['slow', 'not_attempted', ''],
    ['tiktok', 'waiting', 'timeout'],
    ['webhook', 'dead', 'http_410'],
  ]);
  expect(traced[3]?.attempts.map(({ answer }) => answer)).toEqual([
    { status: 500, body: 'try later' },
    { status: 200, body: 'ok' },
    { status: 200, body: 'ok' },
  ]);
  expect(status.slice(4)).toEqual([
    'crm: not attempted: destination_disabled.',
    'ga4: left out 2026-10-05T12:01:00.000Z: too_old.',
    'late: not attempted: before_destination.',
    'meta: delivered 2026-10-05T12:02:00.000Z, attempted 3 times, answered 200.',
    'slow: not attempted yet.',
    'tiktok: waits for another attempt 2026-10-05T12:01:00.000Z, attempted once: timeout.',
    'webhook: given up 2026-10-05T12:01:00.000Z, attempted once, answered 410: http_410.',
  ]);
});

test('an event that died before it was stored is told by its dead letter', () => {
  const deadLetters = [
    { id: 'identity-0-7', stage: 'identity', reason: 'transform_failed', died_at: AT, resent_at: AT + 1_000 },
  ];
  const { accepted, row, person, status } = trace({ rows: [], deadLetters });
  expect([accepted, row, person]).toEqual([null, null, null]);
  expect(status).toEqual([
    'No row of it is stored.',
    'A dead letter of identity holds it (identity-0-7): transform_failed, since 2026-10-05T12:00:00.000Z, sent in again 2026-10-05T12:00:01.000Z.',
  ]);
});

test('of an event of which nothing is found there is no trace', () => {
  const nothing = {
    attempts: [],
    duplicates: [],
    links: [],
    identified: null,
    deadLetters: [],
    destinations: [],
    keys: [],
  };
  expect(eventTrace({ siteId: 'shop', eventId: 'e1', rows: [], ...nothing })).toBeNull();
});
