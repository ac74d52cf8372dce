import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RejectionsItem } from '#services/control_api/operations.ts';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge } = service.ready;
/** With the grace 12 events have a place in the month. */
const ALLOWANCE = 10;
const EMAIL = 'quentin.zyx@zyx-mail.example';
const PHONE = '+32 470 12 34 56';
const RAW = [EMAIL, 'zyx', PHONE, '470123456', '12 34 56'];

let site: TestSite;
let rejections: RejectionsItem;
beforeAll(async () => {
  site = await makeSite(service, {
    allowance: ALLOWANCE,
    siteWords: ['--block', 'event=internal_test', '--country', 'BE'],
    browserKeyWords: ['--origin', 'https://shop.example'],
  });
  await sendAll();
  rejections = await until(
    'what was not accepted',
    () => site.settings.run<RejectionsItem>('site', 'refusals', site.site),
    ({ totals }) => totals.reduce((sum, { count }) => sum + count, 0) >= 12,
  );
});
afterAll(() => site.close());

async function sendAll(): Promise<void> {
  const send = (events: readonly unknown[]) => postEvents(edge, site.serverKey, events);
  const page = { origin: 'https://shop.example' };
  const one = JSON.stringify({ events: [newEvent(), newEvent()] });
  const statuses: number[] = [];
  const note = async (asked: Promise<{ status: number }>): Promise<void> => {
    statuses.push((await asked).status);
  };
  // Two of four are taken.
  await note(send([newEvent(), { ...newEvent(), event: '' }, newEvent(), { ...newEvent(), timestamp: 'soon' }]));
  await note(postBody(edge, site.browserKey, one, { ...page, 'user-agent': 'Googlebot/2.1' }));
  // One of two is taken.
  await note(send([newEvent({ event: 'internal_test' }), newEvent()]));
  await note(postBody(edge, site.browserKey, one, { origin: 'https://other.example' }));
  await note(postBody(edge, site.serverKey, '{"events":'));
  await note(send([{ event: EMAIL, uuid: 7, [PHONE]: EMAIL, properties: { [EMAIL]: PHONE, [PHONE]: EMAIL } }]));
  await note(send([{ event: `Call ${PHONE}`, uuid: 7, properties: { value: 1 } }]));
  // Nine of twelve have a place in the month.
  await note(send(Array.from({ length: 12 }, () => newEvent({ event: 'purchase' }))));
  expect(statuses).toEqual([200, 200, 200, 403, 400, 400, 400, 200]);
}

test('what was not accepted is counted exactly, by reason', () => {
  expect(Object.fromEntries(rejections.totals.map(({ kind, code, count }) => [`${kind} ${code}`, count]))).toEqual({
    'rejected event_name_missing': 1,
    'rejected timestamp_invalid': 1,
    'rejected uuid_invalid': 2,
    'dropped bot': 2,
    'dropped blocked': 1,
    'dropped quota': 3,
    'refused origin_not_allowed': 1,
    'refused body_not_json': 1,
  });
  expect(rejections.counts.reduce((sum, { count }) => sum + count, 0)).toBe(12);
  expect(rejections.known_since).toBeLessThanOrEqual(Date.now());
});

test('samples say what it was, by names alone', () => {
  const of = (code: string) => rejections.samples?.filter((sample) => sample.code === code) ?? [];
  expect(of('event_name_missing')).toMatchObject([
    { kind: 'rejected', event: null, index: 1, caller: 'server', fields: ['event', 'uuid', 'distinct_id'] },
  ]);
  expect(of('timestamp_invalid')[0]?.key?.shown_prefix).toBe(site.serverKey.slice(0, 11));
  expect(of('blocked')).toMatchObject([{ event: 'internal_test', index: 0 }]);
  expect(of('quota').map(({ event }) => event)).toEqual(['purchase', 'purchase']);
  expect(of('origin_not_allowed')).toMatchObject([{ event: null, index: null, caller: 'browser', fields: [] }]);
  expect(of('uuid_invalid').map(({ event, fields }) => [event, fields])).toEqual(
    expect.arrayContaining([
      ['redacted', ['event', 'uuid', 'redacted', 'properties', 'properties.redacted', 'properties.redacted']],
      ['Call redacted', ['event', 'uuid', 'properties', 'properties.value']],
    ]),
  );
});

test('no e-mail address and no phone number is in the answer or in Redis', async () => {
  const redis = new Redis(service.ready.redis);
  const [counts, samples] = await Promise.all([
    redis.hgetall(`refusals.{${site.site}}.counts`),
    redis.zrange(`refusals.{${site.site}}.samples`, '0', '-1'),
  ]);
  redis.disconnect();
  expect(samples.length).toBeGreaterThan(5);
  const text = JSON.stringify([counts, samples, rejections]);
  for (const raw of RAW) expect(text).not.toContain(raw);
});
