import { afterAll, beforeAll, expect, test } from 'vitest';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import type { ErasureItem, PersonFound } from '#services/control_api/persons.ts';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { readMetrics, total } from '#test/harness/metrics.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const EMAIL = 'jane.roe@example.com';

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

async function send(...events: SentEvent[]): Promise<void> {
  for (const event of events) {
    expect(await postEvents(edge, site.serverKey, [event])).toMatchObject({ body: { accepted: 1 } });
  }
}

async function rowsBy(): Promise<Record<string, number>> {
  const query = `SELECT distinct_id, toInt32(count()) AS events FROM event_rows WHERE site_id = {site:String} GROUP BY distinct_id`;
  const rows = await select<{ distinct_id: string; events: number }>(clickhouse, query, { site: site.site });
  return Object.fromEntries(rows.map(({ distinct_id, events }) => [distinct_id, events]));
}

async function dropped(): Promise<number> {
  const { metricsUrl } = await readyProcess(service, 'dedup');
  return total(await readMetrics(metricsUrl), 'svc_events_dropped_total', { reason: 'erased' });
}

const person = <T>(verb: string, ...words: string[]): Promise<T> =>
  site.settings.run<T>('person', verb, '--site', site.site, ...words);

test('who is erased by e-mail is gone from the tables, comes back by no late event, and is somebody new when they return', {
  timeout: 120_000,
}, async () => {
  const says = (distinct_id: string, email: string) =>
    newEvent({ event: 'purchase', distinct_id, properties: { email, value: 5, currency: 'EUR' } });
  await send(
    newEvent({ distinct_id: 'laptop' }),
    says('laptop', EMAIL),
    says('phone', EMAIL),
    says('other', 'x@y.example'),
  );
  await until('all rows', rowsBy, (seen) => seen['laptop'] === 2 && seen['phone'] === 1 && seen['other'] === 1);

  const found = await person<PersonFound>('find', '--email', ` ${EMAIL.toUpperCase()}`);
  expect(found).toMatchObject({ distinct_ids: 2, identifiers: 1 });
  expect(found.tables).toContainEqual({ table: 'event_rows', rows: 3 });
  const lines = await person<{ event?: { distinct_id: string } }[]>('export', '--distinct-id', 'phone');
  expect(lines.flatMap(({ event }) => (event === undefined ? [] : [event.distinct_id])).sort()).toEqual([
    'laptop',
    'laptop',
    'phone',
  ]);

  const receipt = await person<ErasureItem>('erase', '--email', EMAIL);
  expect(receipt).toMatchObject({ phase: 'done', erased: expect.arrayContaining([{ place: 'event_rows', count: 3 }]) });
  expect(JSON.stringify(receipt)).not.toContain(sha256Hex(EMAIL));
  expect(await rowsBy()).toEqual({ other: 1 });
  const hours = 'SELECT toInt32(sum(events)) AS events FROM event_hours WHERE site_id = {site:String}';
  expect(await select(clickhouse, hours, { site: site.site })).toEqual([{ events: 1 }]);

  const before = await dropped();
  await send(newEvent({ distinct_id: 'laptop' }), says('phone', EMAIL), says('account-2', EMAIL));
  const after = await until('the new row', rowsBy, (seen) => seen['account-2'] === 1);
  expect(after).toEqual({ other: 1, 'account-2': 1 });
  await until('both counted', dropped, (count) => count === before + 2);
  const [row] = await select<{ person: string }>(
    clickhouse,
    `SELECT person_id AS person FROM events WHERE site_id = {site:String} AND distinct_id = 'account-2'`,
    { site: site.site },
  );
  expect(row?.person).toBe(basePersonId(site.site, 'account-2'));
});

/** Every second one is erased: what it is like and is not it stays. */
const HOSTILE = [
  ...[
    'o\'brien"; --',
    'o\'brien"; ---',
    'caf\u00e9',
    'cafe\u0301',
    'CaseId',
    'caseid',
    '\u{1f600}\u{10ffff}',
    '\u{1f600}',
  ],
  ...[sha256Hex('x'), sha256Hex('x').toUpperCase(), basePersonId('shop', 'x'), 'p_', '{site:String}', '{site:UInt8}'],
  ...['back\\0slash', 'back\\\\0slash', '%41bc', 'Abc', 'x'.repeat(200), 'x'.repeat(199)],
];

test('ids that look like something else are erased as they were sent, and nobody of a like id or of another site', {
  timeout: 120_000,
}, async () => {
  const [own, other] = [await makeSite(service), await makeSite(service)];
  // Longer than an id may be in a call of ours.
  const longId = `${'\u{1f600}y'.repeat(500)} `;
  const event = { type: 'track', event: 'seen', userId: longId, messageId: 'one' };
  const segment = await fetch(`${edge}/v1/batch`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${own.serverKey}:`)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ batch: [event] }),
  });
  expect(segment.status).toBe(200);
  for (const { serverKey } of [own, other]) {
    const answer = await postEvents(
      edge,
      serverKey,
      HOSTILE.map((distinct_id) => newEvent({ distinct_id })),
    );
    expect(answer).toMatchObject({ body: { accepted: HOSTILE.length } });
  }
  const idsOf = async ({ site: site_id }: TestSite): Promise<string[]> => {
    const query = 'SELECT distinct_id FROM event_rows WHERE site_id = {site_id:String}';
    const rows = await select<{ distinct_id: string }>(clickhouse, query, { site_id });
    return rows.map(({ distinct_id }) => distinct_id).sort();
  };
  await until(
    'own',
    () => idsOf(own),
    (ids) => ids.length === HOSTILE.length + 1,
  );
  const all = await until(
    'all',
    () => idsOf(other),
    (ids) => ids.length === HOSTILE.length,
  );
  expect(all).toEqual(HOSTILE.toSorted());
  const erasures = await Promise.all(
    [longId, ...HOSTILE.filter((_, at) => at % 2 === 0)].map((id) =>
      own.settings.run<ErasureItem>('person', 'erase', '--site', own.site, `--distinct-id=${id}`, '--detach'),
    ),
  );
  for (const { erasure_id } of erasures) {
    const done = await own.settings.run<ErasureItem>('erasure', 'show', erasure_id, '--site', own.site, '--wait');
    expect(done.erased).toContainEqual({ place: 'event_rows', count: 1 });
  }
  expect(await idsOf(own)).toEqual(HOSTILE.filter((_, at) => at % 2 === 1).sort());
  expect(await idsOf(other)).toEqual(HOSTILE.toSorted());
  await own.close();
  await other.close();
});

test('a site that is erased is gone with its keys and its rows, what comes of it is refused, and another one keeps its own', {
  timeout: 120_000,
}, async () => {
  const gone = await makeSite(service);
  await postEvents(edge, gone.serverKey, [newEvent({ distinct_id: 'laptop' })]);
  const countOf = async (site_id: string): Promise<number> => {
    const query = 'SELECT toInt32(count()) AS rows FROM event_rows WHERE site_id = {site_id:String}';
    return (await select<{ rows: number }>(clickhouse, query, { site_id }))[0]?.rows ?? 0;
  };
  await until(
    'the row',
    () => countOf(gone.site),
    (rows) => rows === 1,
  );
  const before = await countOf(site.site);
  const receipt = await gone.settings.run<ErasureItem>('site', 'erase', gone.site, '--confirm', gone.site);
  expect(receipt).toMatchObject({ phase: 'done', erased: expect.arrayContaining([{ place: 'event_rows', count: 1 }]) });
  expect([await countOf(gone.site), await countOf(site.site)]).toEqual([0, before]);
  expect((await postEvents(edge, gone.serverKey, [newEvent({ distinct_id: 'laptop' })])).status).toBe(403);
  const again = gone.settings.run('site', 'create', gone.site, '--account', gone.account);
  await expect(again).rejects.toThrow('site_erased');
  await gone.close();
});
