import { describe, expect, it } from 'vitest';
import { DELIVERY_DRAIN_MS } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { defaultsOf } from '#pipelines/delivery/setting_fields.ts';
import { entryOf, manyEntries, NOW_MS, siteOf } from './entries.ts';
import { answered, metaIds, metaJob, portsOf, webhookJob } from './harness.ts';

const OK = answered(200, { events_received: 1_000, messages: [], fbtrace_id: 'Ab1' });

describe('outcomes', () => {
  it('come in the order of the entries, whatever was skipped between them', async () => {
    const entries = [
      entryOf({ event_id: 'a' }),
      entryOf({ event_id: 'b', timestamp: NOW_MS - 8 * 86_400_000 }),
      entryOf({ event_id: 'c', properties: {} }),
      entryOf({ event_id: 'd' }),
    ];
    const ports = portsOf(() => OK);
    const outcomes = await deliver(metaJob({ entries }), ports);
    expect(outcomes.map((outcome) => [outcome.outcome, outcome.reason])).toEqual([
      ['delivered', ''],
      ['skipped', 'too_old'],
      ['skipped', 'missing_event_source_url'],
      ['delivered', ''],
    ]);
    expect(ports.requests.map(metaIds)).toEqual([['a', 'd']]);
    expect(outcomes.map((outcome) => outcome.tookMs)).toEqual([10, 0, 0, 10]);
  });

  it('make an unreadable event dead by itself, without its text', async () => {
    const broken = entryOf({ event_id: 'bad' });
    broken.event.properties = '{"secret"';
    const outcomes = await deliver(
      metaJob({ entries: [broken, entryOf()] }),
      portsOf(() => OK),
    );
    expect(outcomes).toMatchObject([
      { outcome: 'dead', reason: 'map_failed', detail: 'SyntaxError' },
      { outcome: 'delivered' },
    ]);
  });

  it('pause on settings that are not valid, naming the fields only', async () => {
    const ports = portsOf(() => OK);
    const job = metaJob({ settings: { pixel_id: 'not-a-number' }, secrets: {} });
    const outcomes = await deliver(job, ports);
    expect(outcomes).toMatchObject([{ outcome: 'paused', reason: 'settings_invalid', retryAfterMs: 60_000 }]);
    expect(outcomes[0]?.detail.split(', ').sort()).toEqual(['access_token', 'pixel_id']);
    expect(ports.requests).toEqual([]);
  });
});

describe('batches', () => {
  it('hold at most the events the platform takes', async () => {
    const ports = portsOf(() => OK);
    await deliver(metaJob({ entries: manyEntries(2001) }), ports);
    expect(ports.requests.map((request) => metaIds(request).length)).toEqual([1000, 1000, 1]);
  });

  it('hold at most the bytes the platform takes', async () => {
    const ports = portsOf(() => OK);
    const properties = { $current_url: 'https://shop.example/thanks', content_name: 'x'.repeat(5_000) };
    await deliver(metaJob({ entries: manyEntries(400, { properties }) }), ports);
    expect(ports.requests.length).toBeGreaterThan(2);
    for (const request of ports.requests) expect(Buffer.byteLength(request.body)).toBeLessThanOrEqual(1_000_000);
    expect(ports.requests.flatMap(metaIds)).toHaveLength(400);
  });

  it.each([
    [1, 1000],
    [2, 1000],
    [3, 100],
    [4, 10],
    [5, 1],
    [9, 1],
  ])('shrink with the attempts: attempt %i sends %i at most', async (attempt, largest) => {
    const ports = portsOf(() => OK);
    await deliver(metaJob({ entries: manyEntries(1000), attempt }), ports);
    expect(Math.max(...ports.requests.map((request) => metaIds(request).length))).toBe(largest);
  });

  it('are in flight no more than the destination allows', async () => {
    let inFlight = 0;
    let most = 0;
    const ports = portsOf(async () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight -= 1;
      return answered(200, '');
    });
    await deliver(webhookJob({ entries: manyEntries(40) }), ports);
    expect(most).toBe(8);
    expect(ports.requests).toHaveLength(40);
  });
});

describe('the breaker', () => {
  it('pauses what is left once a platform keeps failing, without calling it again', async () => {
    const ports = portsOf(() => answered(500, ''));
    const outcomes = await deliver(webhookJob({ entries: manyEntries(100) }), ports);
    expect(ports.requests.length).toBeLessThan(20);
    const kinds = Map.groupBy(outcomes, (outcome) => `${outcome.outcome} ${outcome.reason}`);
    expect(kinds.get('diverted http_500')).toHaveLength(ports.requests.length);
    expect(kinds.get('paused breaker_open')).toHaveLength(100 - ports.requests.length);
  });

  it('pauses the batch whose credentials are broken, and all after it', async () => {
    const ports = portsOf(() => answered(400, { error: { code: 190, message: 'x', type: 'OAuthException' } }));
    const first = await deliver(metaJob(), ports);
    const second = await deliver(metaJob(), ports);
    expect([...first, ...second]).toMatchObject([
      { outcome: 'paused', reason: 'meta_190' },
      { outcome: 'paused', reason: 'meta_190' },
    ]);
    expect(ports.requests).toHaveLength(1);
    ports.breakers.reset('any', 'site_1');
    await deliver(metaJob(), ports);
    expect(ports.requests).toHaveLength(2);
  });

  it('keeps quiet for as long as Retry-After asks', async () => {
    const ports = portsOf(() => answered(429, '', { 'retry-after': '30' }));
    const outcomes = await deliver(webhookJob({ entries: manyEntries(1) }), ports);
    const later = await deliver(webhookJob({ entries: manyEntries(1) }), ports);
    expect(outcomes).toMatchObject([{ outcome: 'diverted', reason: 'http_429', retryAfterMs: 30_000 }]);
    expect(later).toMatchObject([{ outcome: 'paused', reason: 'throttled', retryAfterMs: 30_000 }]);
    expect(ports.requests).toHaveLength(1);
  });

  it('sends the probe first and alone, and goes on when it succeeds', async () => {
    const ports = portsOf(() => answered(200, ''));
    let asked = 0;
    const breaker = {
      ask: () => (asked++ === 0 ? ({ kind: 'probe' } as const) : ({ kind: 'go' } as const)),
      report: () => undefined,
    };
    const outcomes = await deliver(webhookJob({ entries: manyEntries(5) }), { ...ports, breaker });
    expect(outcomes.map((outcome) => outcome.outcome)).toEqual(Array(5).fill('delivered'));
  });
});

describe('a process that is to stop', () => {
  it('begins no further call, and says so of what is left', async () => {
    const ports = portsOf(() => answered(200, ''));
    const stopping = (): boolean => ports.requests.length >= 8;
    const told: string[] = [];
    const outcomes = await deliver(webhookJob({ entries: manyEntries(40) }), {
      ...ports,
      stopping,
      answered: ({ event }) => told.push(event.event_id),
    });
    expect(ports.requests).toHaveLength(8);
    const kinds = Map.groupBy(outcomes, ({ outcome, reason }) => `${outcome} ${reason}`.trim());
    expect(kinds.get('delivered')).toHaveLength(8);
    expect(kinds.get('paused handed_over')).toHaveLength(32);
    expect(told).toEqual(manyEntries(8).map(({ event }) => event.event_id));
  });

  it('makes no call that waited for its turn, and takes no probe', async () => {
    const { turns, ...ports } = portsOf(() => answered(200, ''));
    let stops = false;
    let asked = 0;
    const ask = () => {
      asked += 1;
      return { kind: 'go' as const };
    };
    const breaker = { ask, report: () => undefined };
    const held = Promise.withResolvers<void>();
    const holding = turns.run('site_1', 1, () => held.promise);
    const job = webhookJob({ entries: manyEntries(1) });
    const waiting = deliver(job, {
      ...ports,
      breaker,
      turns: { run: (site, _, work) => turns.run(site, 1, work) },
      stopping: () => stops,
    });
    stops = true;
    held.resolve();
    await holding;
    expect(await waiting).toMatchObject([{ outcome: 'paused', reason: 'handed_over' }]);
    asked = 0;
    expect(await deliver(job, { ...ports, turns, breaker, stopping: () => true })).toMatchObject([
      { reason: 'handed_over' },
    ]);
    expect([ports.requests.length, asked]).toEqual([0, 0]);
  });

  it('leaves the parts of a batch that is being split', async () => {
    const ports = portsOf(() => answered(400, { error: { code: 100, error_subcode: 2804003 } }));
    const stopping = (): boolean => ports.requests.length >= 1;
    const outcomes = await deliver(metaJob({ entries: manyEntries(4) }), { ...ports, stopping });
    expect(outcomes.map(({ reason }) => reason)).toEqual(Array(4).fill('handed_over'));
  });

  it.each(DESTINATIONS)('has time to hear the last answer of $name, and to commit it', ({ limits, schema }) => {
    const { timeoutMs } = limits(defaultsOf(schema));
    expect(timeoutMs).toBeLessThanOrEqual(DELIVERY_DRAIN_MS - 2_000);
  });
});

describe('event definitions', () => {
  const definition = (changes: object): string =>
    JSON.stringify({ id: 'd1', name: 'purchase', trigger: 'click', ...changes });
  it.each([
    ['no definition', [], 'delivered'],
    ['a destination absent from the map', [definition({ destinations: { tiktok: false } })], 'delivered'],
    ['a destination that is true', [definition({ destinations: { meta: true } })], 'delivered'],
    ['a destination that is false', [definition({ destinations: { meta: false } })], 'skipped'],
    ['a definition that is not enabled', [definition({ enabled: false, destinations: { meta: false } })], 'delivered'],
    ['one of two that sends', [definition({ destinations: { meta: false } }), definition({})], 'delivered'],
    ['a definition of another name', [definition({ name: 'other', destinations: { meta: false } })], 'delivered'],
  ])('with %s', async (_, event_definitions, outcome) => {
    const outcomes = await deliver(
      metaJob({ site: siteOf({ event_definitions }) }),
      portsOf(() => OK),
    );
    expect(outcomes[0]?.outcome).toBe(outcome);
  });

  it('name the conversion an event stands for', async () => {
    const event_definitions = [definition({ name: 'cta_click', conversion_event: 'generate_lead' })];
    const ports = portsOf(() => OK);
    await deliver(metaJob({ site: siteOf({ event_definitions }), entries: [entryOf({ event: 'cta_click' })] }), ports);
    expect(ports.requests[0]?.body).toContain('"event_name":"Lead"');
  });
});
