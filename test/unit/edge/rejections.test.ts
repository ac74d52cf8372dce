import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import type { RejectionCounts } from '#pipelines/ingestion_warnings/warnings.ts';
import { hashKey, keyIdOf } from '#pipelines/settings/callers.ts';
import { createRejectionRecorder, type RejectionRecorder } from '#services/edge/site_activity.ts';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { apiKey, site } from '#test/unit/settings/samples.ts';
import { startEdge, type TestEdge, type TestEdgeOptions } from './edge.ts';

/** What an edge counted of the shop, without its hours. */
async function countsOf(edge: TestEdge): Promise<Record<string, number>> {
  const notes = (await edge.refused()).get('shop');
  return Object.fromEntries(
    [...(notes?.counts ?? [])].map(([field, count]) => [field.slice(field.indexOf(':') + 1), count]),
  );
}

describe('what reaches the edge', () => {
  let edge: TestEdge;
  const open = async (options: TestEdgeOptions = {}): Promise<void> => {
    edge = await startEdge(options);
  };
  afterEach(() => edge.close());

  test('nothing is noted of a request that was accepted', async () => {
    await open();
    await postEvents(edge.url, edge.serverKey, [newEvent(), newEvent()]);
    await fetch(`${edge.url}/v1/config?key=${edge.browserKey}`);
    expect((await edge.refused()).size).toBe(0);
  });

  test('the bad events of a batch are noted by code, with their place and their names', async () => {
    await open();
    const events = [newEvent(), { uuid: 'u', properties: { value: 5 } }, newEvent({ timestamp: 'soon' }), 7];
    await postEvents(edge.url, edge.serverKey, events);
    expect(await countsOf(edge)).toEqual({
      'rejected:event_name_missing': 1,
      'rejected:timestamp_invalid': 1,
      'rejected:event_not_object': 1,
    });
    const { samples = [] } = (await edge.refused()).get('shop') ?? {};
    const common = { kind: 'rejected', keyId: keyIdOf(hashKey(edge.serverKey)), caller: 'server' };
    expect(samples).toMatchObject([
      {
        ...common,
        code: 'event_name_missing',
        index: 1,
        event: null,
        fields: ['uuid', 'properties', 'properties.value'],
      },
      { ...common, code: 'timestamp_invalid', index: 2, event: 'page_view' },
      { ...common, code: 'event_not_object', index: 3, event: null, fields: [] },
    ]);
  });

  test('bad events of the past are noted apart: alerts judge by what sends today', async () => {
    await open();
    const events = [newEvent({ timestamp: '2019-05-04T03:02:01Z' }), newEvent()];
    await postBody(edge.url, edge.serverKey, JSON.stringify({ historical_migration: true, events }));
    expect(await countsOf(edge)).toEqual({ 'historical:timestamp_missing': 1 });
  });

  test("bots' events and blocked ones are noted as dropped", async () => {
    await open({ site: { block_rules: [{ kind: 'event', property: null, value: 'internal' }] } });
    await postEvents(edge.url, edge.browserKey, [newEvent({ event: 'internal' }), newEvent()]);
    const bot = { 'user-agent': 'Googlebot/2.1 (+http://www.google.com/bot.html)', origin: 'https://shop.example' };
    await postBody(edge.url, edge.browserKey, JSON.stringify({ events: [newEvent(), newEvent()] }), bot);
    expect(await countsOf(edge)).toEqual({ 'dropped:blocked': 1, 'dropped:bot': 2 });
  });

  test('an unknown key is noted at the site whose verified domain the page is of, and at no other', async () => {
    await open();
    const from = (origin: string, key = 'svc_pk_guess') =>
      postBody(edge.url, key, JSON.stringify({ events: [newEvent()] }), { origin });
    for (const origin of ['https://elsewhere.example', 'https://a.shop.example', 'null', 'https://[', '']) {
      expect(await from(origin)).toMatchObject({ status: 403, body: { error: { code: 'key_invalid' } } });
    }
    expect((await edge.refused()).size).toBe(0);
    expect(await from('https://shop.example:8443')).toMatchObject({ status: 403 });
    const batch = JSON.stringify({ api_key: 'guess', batch: [] });
    await fetch(`${edge.url}/batch`, { method: 'POST', body: batch, headers: { origin: 'https://shop.example' } });
    expect(await countsOf(edge)).toEqual({ 'refused:key_invalid': 2 });
    expect((await edge.refused()).get('shop')?.samples).toMatchObject([{ keyId: null }, { keyId: null }]);
  });

  test('a key that is mistyped, or cut off, is noted at the site of which one begins as it does', async () => {
    await open();
    put(edge.table, { key: apiKey({ key_hash: 'c'.repeat(64), shown_prefix: 'svc_pk_Wera' }) });
    const ask = (key: string) =>
      fetch(`${edge.url}/v1/config?key=${key}`, { headers: { origin: 'https://a.example' } });
    for (const key of [`svc_pk_Wera${'x'.repeat(28)}`, 'svc_pk_Wera7']) expect((await ask(key)).status).toBe(403);
    for (const key of [`svc_pk_Vera${'x'.repeat(28)}`, 'svc_pk_Wer']) expect((await ask(key)).status).toBe(403);
    expect(await countsOf(edge)).toEqual({ 'refused:key_invalid': 2 });
  });

  test('an event with a placeholder for an id is accepted, and warned about', async () => {
    await open();
    const events = [newEvent(), newEvent({ event: 'purchase', properties: { external_id: 'undefined' } })];
    expect(await postEvents(edge.url, edge.serverKey, events)).toMatchObject({ status: 200, body: { accepted: 2 } });
    expect(await countsOf(edge)).toEqual({ 'warned:placeholder_id': 1 });
    const { samples = [] } = (await edge.refused()).get('shop') ?? {};
    expect(samples).toMatchObject([{ kind: 'warned', index: 1, event: 'purchase' }]);
    expect(samples[0]?.fields).toContain('properties.external_id');
  });

  test('each warning of an event counts, as they are counted by code', async () => {
    await open();
    const event = newEvent({ timestamp: '2099-01-01T00:00:00Z', properties: { external_id: 'undefined' } });
    expect(await postEvents(edge.url, edge.serverKey, [event])).toMatchObject({ status: 200, body: { accepted: 1 } });
    expect(await countsOf(edge)).toEqual({ 'warned:placeholder_id': 1, 'warned:timestamp_ahead': 1 });
  });

  test('an id that events of several names have is warned about, with both names, and a copy is not', async () => {
    await open();
    const named = (event: string, uuid = 'order-77'): object => newEvent({ event, uuid });
    const first = ['begin_checkout', 'begin_checkout', 'purchase'].map((event) => named(event));
    await postEvents(edge.url, edge.serverKey, [{ event: '' }, ...first]);
    await postEvents(edge.url, edge.serverKey, [named('refund')]);
    const uuid = '0E9C4F2A-63F3-4B7A-9C4C-9C2A6C1D1B11';
    await postEvents(edge.url, edge.serverKey, [named('view', uuid), named('click', uuid.toLowerCase())]);
    expect(await countsOf(edge)).toEqual({ 'rejected:event_name_missing': 1, 'warned:uuid_reused': 3 });
    const { samples = [] } = (await edge.refused()).get('shop') ?? {};
    expect(samples.slice(1).map(({ event, index }) => [event, index])).toEqual([
      ['begin_checkout, purchase', 3],
      ['begin_checkout, refund', 0],
    ]);
  });

  test('an event of a device whose clock is wrong is accepted at its arrival, and warned about', async () => {
    await open();
    const times = ['1970-01-01T00:03:00Z', '2100-01-01T00:00:00Z'];
    const events = times.map((timestamp) => newEvent({ timestamp, properties: { external_id: 'null' } }));
    expect(await postEvents(edge.url, edge.browserKey, events)).toMatchObject({ body: { accepted: 2 } });
    const taken = edge.records.flat();
    expect(taken.map(({ timestamp, received_at }) => timestamp - received_at)).toEqual([0, 0]);
    expect(taken.map(({ original_timestamp }) => original_timestamp)).toEqual(times);
    const counts = { 'warned:placeholder_id': 2, 'warned:timestamp_too_old': 1, 'warned:timestamp_ahead': 1 };
    expect(await countsOf(edge)).toEqual(counts);
  });

  test.each(['browserKey', 'serverKey'] as const)(
    'a body that says when it was sent corrects its times (%s)',
    async (key) => {
      await open();
      const timestamp = '1970-01-01T00:03:00.000Z';
      const body = JSON.stringify({ sent_at: Date.parse(timestamp) + 2_000, events: [newEvent({ timestamp })] });
      expect(await postBody(edge.url, edge[key], body)).toMatchObject({ body: { accepted: 1 } });
      const [event] = edge.records.flat();
      expect(event).toMatchObject({ timestamp: (event?.received_at ?? 0) - 2_000, original_timestamp: timestamp });
      expect((await edge.refused()).size).toBe(0);
    },
  );

  test('what is over the allowance is noted, with the places of the last events that were sound', async () => {
    const reservation = { accountId: 'acme', month: '2026-01', granted: 1, lease: '' };
    const none = () => undefined;
    await open({
      rateLimiter: {
        limited: () => null,
        admit: async () => ({ ok: true, reservation, rate: null }),
        release: none,
        markUncertain: none,
        charge: async () => undefined,
        isShared: () => false,
        stop: none,
      },
    });
    // What is dropped was not accepted with a fault.
    const faulty = { properties: { external_id: 'undefined' } };
    const events = [newEvent(faulty), newEvent({ event: 'second', ...faulty }), {}, newEvent({ event: 'third' })];
    await postEvents(edge.url, edge.serverKey, events);
    expect(await countsOf(edge)).toEqual({
      'rejected:event_name_missing': 1,
      'warned:placeholder_id': 1,
      'dropped:quota': 2,
    });
    const samples = (await edge.refused()).get('shop')?.samples ?? [];
    expect(samples.filter(({ code }) => code === 'quota').map(({ index, event }) => [index, event])).toEqual([
      [1, 'second'],
      [3, 'third'],
    ]);
  });

  test('an unknown key is noted at the one site whose keys may call from the page, also of a tag that asks how to go on', async () => {
    await open({ browserOrigins: ['https://www.shop-to-be.example', 'https://*.wild.example'] });
    const ask = (origin: string, method = 'GET') =>
      fetch(`${edge.url}/v1/config?key=svc_pk_guess`, { method, headers: { origin } });
    for (const origin of ['https://shop-to-be.example', 'https://a.wild.example', 'http://www.shop-to-be.example']) {
      expect((await ask(origin)).status).toBe(403);
    }
    expect((await edge.refused()).size).toBe(0);
    await ask('https://www.shop-to-be.example');
    expect(await countsOf(edge)).toEqual({ 'refused:key_invalid': 1 });
    put(edge.table, { site: site({ site_id: 'other' }) });
    const allowed_origins = ['https://www.shop-to-be.example'];
    put(edge.table, { key: apiKey({ key_hash: hashKey('of another site'), site_id: 'other', allowed_origins }) });
    await ask('https://www.shop-to-be.example');
    expect(await countsOf(edge)).toEqual({ 'refused:key_invalid': 1 });
  });

  test('requests of which nothing is taken are noted by their code, where the site is known', async () => {
    await open({ browserOrigins: ['https://shop.example'] });
    const foreign = { origin: 'https://other.example' };
    const body = JSON.stringify({ events: [newEvent()] });
    await postBody(edge.url, edge.browserKey, body, foreign);
    await postBody(edge.url, edge.serverKey, body, foreign);
    await postBody(edge.url, edge.serverKey, 'no JSON');
    await postBody(edge.url, edge.serverKey, 'x'.repeat(300_000));
    await postBody(edge.url, edge.serverKey, '{"events":[]}');
    await postBody(edge.url, edge.serverKey, body, { 'content-type': 'text/html' });
    await postBody(edge.url, `svc_pk_${'a'.repeat(32)}`, body);
    await postBody(edge.url, null, body);
    await fetch(`${edge.url}/v1/config?key=${edge.browserKey}`, { headers: foreign });
    expect(await countsOf(edge)).toEqual({
      'refused:origin_not_allowed': 2,
      'refused:key_not_for_browsers': 1,
      'refused:body_not_json': 1,
      'refused:body_too_large': 1,
      'refused:events_empty': 1,
      'refused:content_type_unsupported': 1,
    });
    expect([...(await edge.refused()).keys()]).toEqual(['shop']);
  });

  test('a key that was revoked still says whose site it was', async () => {
    await open();
    const key_hash = hashKey(edge.browserKey);
    put(edge.table, { key: apiKey({ key_hash, revoked_at: 1 }) });
    await postEvents(edge.url, edge.browserKey, [newEvent()]);
    expect(await countsOf(edge)).toEqual({ 'refused:key_revoked': 1 });
    const sample = (await edge.refused()).get('shop')?.samples[0];
    expect(sample).toMatchObject({ keyId: keyIdOf(key_hash), caller: 'browser', event: null, index: null, fields: [] });
  });

  test('a request that is refused for its rate is noted once, whether or not that was known before', async () => {
    const limited = {
      ok: false,
      kind: 'key',
      waitMs: 1_000,
      rate: { limit: 1, remaining: 0, resetMs: 1_000 },
    } as const;
    let isKnown = false;
    const none = () => undefined;
    await open({
      rateLimiter: {
        limited: () => (isKnown ? limited : null),
        admit: async () => limited,
        release: none,
        markUncertain: none,
        charge: async () => undefined,
        isShared: () => false,
        stop: none,
      },
    });
    const statuses = [(await postEvents(edge.url, edge.serverKey, [newEvent(), {}])).status];
    statuses.push((await postBody(edge.url, edge.serverKey, 'no JSON')).status);
    isKnown = true;
    statuses.push((await postEvents(edge.url, edge.serverKey, [newEvent()])).status);
    expect(statuses).toEqual([429, 429, 429]);
    expect(await countsOf(edge)).toEqual({ 'refused:rate_limited': 3 });
  });

  test('what Kafka did not acknowledge is a refused request: the client sends all its events again', async () => {
    await open();
    edge.answers.push(Promise.resolve({ ok: false, code: 'not_acknowledged' }));
    await postEvents(edge.url, edge.serverKey, [newEvent(), {}]);
    expect(await countsOf(edge)).toEqual({ 'refused:not_acknowledged': 1 });
  });

  test('calls of other protocols are noted with their place in the request', async () => {
    await open();
    const batch = [
      { type: 'nothing', userId: 'u' },
      { type: 'track', event: '', userId: 'u' },
      { type: 'track', event: 'ok', userId: 'u' },
    ];
    const headers = { authorization: `Basic ${Buffer.from(`${edge.serverKey}:`).toString('base64')}` };
    await fetch(`${edge.url}/v1/batch`, { method: 'POST', headers, body: JSON.stringify({ batch }) });
    await fetch(`${edge.url}/v1/batch`, { method: 'POST', headers, body: '[]' });
    expect(await countsOf(edge)).toEqual({
      'rejected:call_type_unknown': 1,
      'rejected:event_name_missing': 1,
      'refused:body_not_calls': 1,
    });
    const samples = (await edge.refused()).get('shop')?.samples ?? [];
    expect(Object.fromEntries(samples.map(({ code, index }) => [code, index]))).toEqual({
      call_type_unknown: 0,
      event_name_missing: 1,
      body_not_calls: null,
    });
  });

  test("GA4's hits from a page of another origin are noted for the site that the host names", async () => {
    await open({ browserOrigins: ['https://shop.example'] });
    const headers = { 'x-svc-key': edge.browserKey, origin: 'https://other.example' };
    await fetch(`${edge.url}/g/collect?v=2&tid=G-1&en=page_view`, { headers });
    expect(await countsOf(edge)).toEqual({ 'refused:origin_not_allowed': 1 });
  });

  test('an inventory and a form that cannot be taken are noted as requests', async () => {
    await open();
    const post = (path: string, body: object) =>
      fetch(`${edge.url}${path}?key=${edge.browserKey}`, { method: 'POST', body: JSON.stringify(body) });
    await post('/v1/inventory', { page: 7 });
    await post('/v1/form', { form_id: 'none', fields: {} });
    await post('/v1/surveys/respond', {});
    expect(await countsOf(edge)).toEqual({
      'refused:page_invalid': 1,
      'refused:engage_unknown': 1,
      'refused:engage_invalid': 1,
    });
  });

  test('an e-mail address or a phone number is in no note, wherever it stood', async () => {
    await open({ site: { default_country: 'BE' } });
    const raw = ['quentin.zyx@zyx-mail.example', '+32 470 12 34 56', '0470123456'];
    for (const text of raw) {
      const event = { event: text, uuid: 7, [text]: text, properties: { [text]: text } };
      await postEvents(edge.url, edge.serverKey, [event, { ...event, event: undefined }]);
    }
    const notes = (await edge.refused()).get('shop');
    expect(notes?.samples).toHaveLength(4);
    // A time and a key's digest may have any digits.
    const text = JSON.stringify([...(notes?.counts ?? []), ...(notes?.samples ?? [])], (name, value) =>
      name === 'atMs' || name === 'keyId' ? null : value,
    );
    for (const one of [...raw, 'zyx', '470', '12 34']) expect(text).not.toContain(one);
  });
});

describe('what is noted', () => {
  let noted: [string, RejectionCounts][];
  let marks: number;
  let isAway: boolean;
  let rejections: RejectionRecorder;
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    noted = [];
    marks = 0;
    isAway = false;
    rejections = createRejectionRecorder({
      metrics: createMetrics('edge'),
      async note(siteId, notes) {
        if (isAway) throw new Error('away');
        noted.push([siteId, notes]);
      },
      async markCounted() {
        marks += 1;
        if (isAway) throw new Error('away');
      },
      secret: Buffer.alloc(32, 7),
      nowMs: Date.now,
    });
  });
  afterEach(() => vi.useRealTimers());
  const sender = { key: apiKey(), site: site() };
  const reject = () =>
    rejections.readEvents(sender, {
      events: [{}],
      batch: {
        taken: [],
        rejected: [{ index: 0, code: 'event_name_missing', message: '' }],
        dropped: [],
        warned: [],
        steps: 0,
      },
      reused: [],
      overQuota: 0,
      isHistorical: false,
    })();

  test('is passed on every 2 s, by site', async () => {
    reject();
    rejections.recordRequest({ siteId: 'other', key: null }, 'origin_not_allowed');
    expect(noted).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(noted.map(([siteId, { counts }]) => [siteId, ...counts.values()])).toEqual([
      ['shop', 1],
      ['other', 1],
    ]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(noted).toHaveLength(2);
  });

  test('is passed on before the next where it could not be, and at the end', async () => {
    isAway = true;
    reject();
    await vi.advanceTimersByTimeAsync(4_000);
    isAway = false;
    reject();
    await rejections.stop();
    expect(noted.map(([, { counts }]) => [...counts.values()])).toEqual([[1], [1]]);
  });

  test('says from when on it is counted, at once and each minute, also where Redis was away', async () => {
    expect(marks).toBe(1);
    isAway = true;
    await vi.advanceTimersByTimeAsync(120_000);
    expect(marks).toBe(3);
    await rejections.stop();
  });
});

test('notes without an answer are passed on again as they were, under their number, before what came since', async () => {
  vi.useFakeTimers();
  try {
    const passed: [number, number][] = [];
    let answers = false;
    const rejections = createRejectionRecorder({
      metrics: createMetrics('edge'),
      async note(_siteId, notes, number) {
        passed.push([number, [...notes.counts.values()].reduce((sum, times) => sum + times, 0)]);
        if (!answers) throw new Error('no answer');
      },
      markCounted: async () => undefined,
      secret: Buffer.alloc(32, 2),
      nowMs: Date.now,
    });
    const refuse = () => rejections.recordRequest({ siteId: 'shop', key: null }, 'key_unknown');
    refuse();
    await vi.advanceTimersByTimeAsync(2_000);
    refuse();
    refuse();
    await vi.advanceTimersByTimeAsync(2_000);
    answers = true;
    await vi.advanceTimersByTimeAsync(2_000);
    await rejections.stop();
    expect(passed).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 2],
    ]);
  } finally {
    vi.useRealTimers();
  }
});
