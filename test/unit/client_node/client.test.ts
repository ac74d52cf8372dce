import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { Client, ClientError, type ClientOptions, type SentEvent } from '#clients/node/src/client.ts';
import { accepted, createWorld, inTurn, type Reply, refusing, type Service, START_MS, type World } from './harness.ts';

afterEach(() => vi.restoreAllMocks());

const uuids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `uuid-${from + at}`);
const trackMany = (client: Client, count: number, properties = {}): void => {
  for (let at = 0; at < count; at += 1) expect(client.track({ event: 'e', properties })).toMatchObject({ ok: true });
};

test('events go out together, by their number or after a while', async () => {
  const world = createWorld(accepted);
  const client = world.client();
  trackMany(client, 120);
  await world.pass(0);
  expect(world.sentUuids()).toEqual([uuids(1, 50), uuids(51, 100)]);
  await world.pass(999);
  expect(world.requests).toHaveLength(2);
  await world.pass(1);
  expect(world.sentUuids()[2]).toEqual(uuids(101, 120));
  expect(client.pending).toBe(0);
  expect(world.requests[0]).toMatchObject({
    url: 'https://edge.example/v1/ingest',
    sentAt: START_MS,
    headers: { 'x-svc-key': 'svc_sk_test', 'content-type': 'application/json' },
  });
});

test('the wait begins with the first event, and is not put off by others', async () => {
  const world = createWorld(accepted);
  const client = world.client();
  for (let at = 0; at < 10; at += 1) {
    trackMany(client, 1);
    await world.pass(100);
  }
  expect(world.sentUuids()).toEqual([uuids(1, 10)]);
});

test('events go out by their bytes, and no request has more', async () => {
  const world = createWorld(accepted);
  const client = world.client({ flushBytes: 10_000 });
  trackMany(client, 30, { text: 'x'.repeat(1_000) });
  await world.pass(1_000);
  expect(world.sentUuids().flat()).toEqual(uuids(1, 30));
  expect(Math.max(...world.requests.map(({ bytes }) => bytes))).toBeLessThan(10_100);
});

test('a body of some size is compressed', async () => {
  const world = createWorld(accepted);
  const client = world.client({ gzipBytesMin: 1_024 });
  trackMany(client, 50);
  expect(await client.flush()).toEqual({ ok: true, pending: 0 });
  trackMany(client, 1);
  expect(await client.flush()).toEqual({ ok: true, pending: 0 });
  expect(world.requests.map(({ headers }) => headers['content-encoding'])).toEqual(['gzip', undefined]);
  expect(world.sentUuids()).toEqual([uuids(1, 50), uuids(51, 51)]);
});

test('a repetition is the same event with the same time, said to be sent later', async () => {
  const world = createWorld(inTurn(() => new Error('reset'), accepted));
  trackMany(world.client(), 50);
  await world.pass(600);
  const [first, second] = world.requests;
  expect(second?.events).toEqual(first?.events);
  expect(first?.events[0]?.timestamp).toBe(new Date(START_MS).toISOString());
  expect(second?.sentAt).toBe(START_MS + 499.9995 - 0.9995);
  expect(world.told.problems).toMatchObject([{ code: 'network_failed', willRetry: true, events: [] }]);
});

test('waits grow, and begin anew after an answer', async () => {
  const down = (): Error => new Error('reset');
  const world = createWorld(inTurn(down, down, down, accepted, down, accepted));
  const client = world.client();
  trackMany(client, 50);
  await world.pass(10_000);
  trackMany(client, 50);
  await world.pass(10_000);
  const gaps = world.requests.map(({ atMs }, at) => Math.round(atMs - (world.requests[at - 1]?.atMs ?? START_MS)));
  expect(gaps).toEqual([0, 500, 1_000, 2_000, 6_500, 500]);
});

test.for([
  [{ status: 429, headers: { 'retry-after': '7' } }, 'rate_limited', 7_500],
  [{ status: 503, headers: { 'retry-after': 'Fri, 20 Nov 2026 10:00:30 GMT' } }, 'unavailable', 30_500],
  [{ status: 503, headers: { 'retry-after': '999999' } }, 'unavailable', 600_500],
  [{ status: 200, body: '<html>Welcome</html>' }, 'answer_foreign', 500],
  [{ status: 302, headers: { location: 'http://portal.example' } }, 'answer_foreign', 500],
] as const)('case %#: it comes again when it may', async ([reply, code, ms]) => {
  const world = createWorld(inTurn(() => reply as Reply, accepted));
  const client = world.client();
  trackMany(client, 50);
  await world.pass(ms - 1);
  expect(world.requests).toHaveLength(1);
  expect(client.pending).toBe(50);
  await world.pass(1);
  expect(world.sentUuids()).toEqual([uuids(1, 50), uuids(1, 50)]);
  expect(world.codes()).toEqual([code]);
  expect(client.pending).toBe(0);
});

test('no answer in time is a failure like any other', async () => {
  const world = createWorld(inTurn(() => 'hang', accepted));
  trackMany(world.client({ requestTimeoutMs: 3_000 }), 50);
  await world.pass(2_999);
  expect(world.codes()).toEqual([]);
  await world.pass(600);
  expect(world.codes()).toEqual(['timed_out']);
  expect(world.requests).toHaveLength(2);
});

test('a refused request is reported and never sent again', async () => {
  const world = createWorld(inTurn(() => refusing(400, 'body_not_json'), accepted));
  const client = world.client();
  trackMany(client, 51);
  await world.pass(60_000);
  expect(world.sentUuids()).toEqual([uuids(1, 50), uuids(51, 51)]);
  expect(world.told.problems).toMatchObject([{ code: 'request_refused', detail: 'body_not_json', willRetry: false }]);
  expect(world.told.problems[0]?.events.map(({ uuid }) => uuid)).toEqual(uuids(1, 50));
});

test('a wrong key is reported with the events', async () => {
  const world = createWorld(() => refusing(403, 'key_revoked'));
  trackMany(world.client(), 2);
  await world.pass(60_000);
  expect(world.requests).toHaveLength(1);
  expect(world.told.problems).toMatchObject([{ code: 'key_refused', detail: 'key_revoked', events: [{}, {}] }]);
});

test('what is too large is split down to the event that is', async () => {
  const tooLarge: Service = (request) =>
    request.events.some(({ uuid }) => uuid === 'uuid-33') ? refusing(413, 'body_too_large') : accepted(request);
  const world = createWorld(tooLarge);
  const client = world.client();
  trackMany(client, 100);
  await world.pass(1_000);
  expect(client.pending).toBe(0);
  expect(world.told.problems).toMatchObject([{ code: 'too_large', events: [{ uuid: 'uuid-33' }] }]);
  const delivered = world.requests.filter(({ events }) => events.every(({ uuid }) => uuid !== 'uuid-33'));
  expect(delivered.flatMap(({ events }) => events)).toHaveLength(99);
  expect(world.requests.length).toBeLessThan(20);
});

test('an event that makes the service fail is found, and given up in the end', async () => {
  const world = createWorld((request) =>
    request.events.some(({ uuid }) => uuid === 'uuid-7') ? refusing(500, 'internal') : accepted(request),
  );
  const client = world.client();
  trackMany(client, 50);
  await world.pass(3_600_000);
  expect(client.pending).toBe(0);
  const givenUp = world.told.problems.filter(({ willRetry }) => !willRetry);
  expect(givenUp).toMatchObject([{ code: 'unavailable', detail: 'internal', events: [{ uuid: 'uuid-7' }] }]);
});

test('a proxy that answers 500 for hours costs no event', async () => {
  const world = createWorld(() => ({ status: 500, body: '<html>oops</html>' }));
  const client = world.client();
  trackMany(client, 50);
  await world.pass(3 * 3_600_000);
  expect(client.pending).toBe(50);
  expect(new Set(world.requests.map(({ events }) => events.length))).toEqual(new Set([50]));
});

test('what the service rejects or drops is told event by event', async () => {
  const world = createWorld(
    inTurn(
      () => ({
        body: { accepted: 1, dropped: 2, rejected: [{ index: 1, code: 'timestamp_too_old', message: 'Why.' }] },
      }),
      () => ({ body: { accepted: 1, dropped: 1 } }),
      () => ({
        status: 400,
        body: { ...(refusing(400, 'events_rejected').body as object), rejected: [{ index: 0, code: 'c' }] },
      }),
    ),
  );
  const client = world.client();
  trackMany(client, 4);
  await world.pass(1_000);
  expect(world.told.rejected).toMatchObject([
    { event: { uuid: 'uuid-2' }, code: 'timestamp_too_old', message: 'Why.' },
  ]);
  expect(world.told.dropped).toMatchObject([
    { reason: 'quota', count: 2, events: [{ uuid: 'uuid-3' }, { uuid: 'uuid-4' }] },
  ]);
  trackMany(client, 3);
  await world.pass(1_000);
  // Which one was filtered is not said, so the one over the quota may be any.
  expect(world.told.dropped.slice(1)).toMatchObject([
    { reason: 'quota', count: 1, events: [{}, {}, {}] },
    { reason: 'filtered', count: 1, events: [{}, {}, {}] },
  ]);
  trackMany(client, 1);
  await world.pass(1_000);
  expect(world.told.rejected[1]).toMatchObject({ event: { uuid: 'uuid-8' }, code: 'c' });
  expect([client.pending, world.codes()]).toEqual([0, []]);
});

test('a full queue takes nothing new, and says so', async () => {
  const world = createWorld(() => new Error('down'));
  const client = world.client({ queueEventsMax: 60 });
  trackMany(client, 60);
  const full = { ok: false, code: 'queue_full', message: 'The queue is full; the event was not taken.' };
  expect(client.track({ event: 'e' })).toEqual(full);
  expect(world.codes()).toEqual(['queue_full']);
  const small = world.client({ queueBytesMax: 300_000 });
  const big = { event: 'e', properties: { text: 'x'.repeat(200_000) } };
  expect([small.track(big).ok, small.track(big).ok]).toEqual([true, false]);
});

test('a mistake in one event is told, and costs no other', async () => {
  const world = createWorld(accepted);
  const client = world.client();
  expect(
    client.track({
      event: 'e',
      properties: {
        get n(): never {
          throw new Error('no');
        },
      },
    }),
  ).toMatchObject({
    ok: false,
    code: 'event_not_serialisable',
  });
  expect(client.identify({ distinctId: '' })).toMatchObject({ ok: false, code: 'distinct_id_invalid' });
  expect(client.trackOffline({ event: 'purchase', actionSource: 'phone_call' })).toMatchObject({ ok: true });
  await world.pass(1_000);
  expect(world.requests[0]?.events).toMatchObject([{ properties: { $action_source: 'phone_call' } }]);
  expect(world.codes()).toEqual(['event_not_serialisable', 'distinct_id_invalid']);
});

test('what cannot be written is refused, and nothing is thrown', () => {
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const no = (): never => {
    throw new Error('no');
  };
  const client = createWorld(accepted).client();
  for (const properties of [{ circular }, { inner: { toJSON: no } }]) {
    expect(client.track({ event: 'e', properties })).toMatchObject({ ok: false, code: 'event_not_serialisable' });
  }
  const throwing = Object.defineProperty({ event: 'e' }, 'properties', { get: no, enumerable: true });
  expect(client.track(throwing)).toMatchObject({ ok: false, code: 'event_not_serialisable' });
});

test('callbacks that throw break nothing', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const world = createWorld(() => ({ body: { accepted: 0, rejected: [{ index: 0, code: 'c' }] } }));
  const seen: string[] = [];
  const client = world.client({
    onRejected: async () => {
      throw new Error('late');
    },
    onDropped: () => {
      throw new Error('at once');
    },
    onError: ({ code }) => {
      seen.push(code);
      throw new Error('here, too');
    },
  });
  trackMany(client, 2);
  await world.pass(1_000);
  trackMany(client, 2);
  await world.pass(1_000);
  expect(seen).toEqual(['callback_failed', 'callback_failed', 'callback_failed', 'callback_failed']);
  expect(warn.mock.calls).toEqual([['event-ingest-client: callback_failed: A callback threw.']]);
  expect(client.pending).toBe(0);
});

test('without a callback the console is told of each kind once', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const world = createWorld(() => new Error('down'));
  const client = world.client({ onError: undefined });
  trackMany(client, 50);
  await world.pass(60_000);
  expect(warn.mock.calls).toEqual([['event-ingest-client: network_failed: The service could not be reached.']]);
});

test('flush waits for what was tracked before it, also what is under way, and not for what comes later', async () => {
  const world = createWorld(accepted);
  const client = world.client();
  expect(await client.flush()).toEqual({ ok: true, pending: 0 });
  trackMany(client, 60);
  const flushed = client.flush();
  trackMany(client, 1);
  expect(await flushed).toMatchObject({ ok: true });
  expect(world.sentUuids().flat().slice(0, 60)).toEqual(uuids(1, 60));
  await world.pass(1_000);
  expect(client.pending).toBe(0);
});

test('flush ends at its deadline, and holds the process until then and no longer', async () => {
  const world = createWorld(() => new Error('down'));
  const client = world.client();
  trackMany(client, 3);
  expect(world.timers().some(({ isHeld }) => isHeld)).toBe(false);
  const flushed = client.flush({ deadlineMs: 5_000 });
  await world.pass(4_999);
  expect(world.timers().every(({ isHeld }) => isHeld)).toBe(true);
  await world.pass(1);
  expect(await flushed).toEqual({ ok: false, pending: 3 });
  expect(world.timers().some(({ isHeld }) => isHeld)).toBe(false);
});

test('shutdown sends what waits, takes no more, and leaves no timer', async () => {
  const world = createWorld(accepted);
  const client = world.client();
  trackMany(client, 3);
  const ending = client.shutdown();
  expect(client.track({ event: 'e' })).toMatchObject({ ok: false, code: 'client_closed' });
  await world.pass(0);
  expect(await ending).toEqual({ ok: true, pending: 0 });
  expect(await client.shutdown()).toEqual({ ok: true, pending: 0 });
  expect(await client.flush()).toEqual({ ok: true, pending: 0 });
  expect(world.timers()).toEqual([]);
});

test('shutdown does not sit out a pause of its own, but one that the service asked for', async () => {
  const world = createWorld(inTurn(() => new Error('down'), accepted));
  const client = world.client({ retryBaseMs: 60_000 });
  trackMany(client, 50);
  await world.pass(1);
  const ending = client.shutdown({ deadlineMs: 2_000 });
  await world.pass(1);
  expect(await ending).toEqual({ ok: true, pending: 0 });

  const asked = createWorld(inTurn(() => ({ status: 429, headers: { 'retry-after': '30' } }), accepted));
  const other = asked.client();
  trackMany(other, 50);
  await asked.pass(1);
  // Nothing can come of it before its deadline.
  expect(await other.shutdown({ deadlineMs: 2_000 })).toEqual({ ok: false, pending: 50 });
  expect(asked.requests).toHaveLength(1);
});

test('at the deadline of shutdown the request is cut off and what is left is reported', async () => {
  const world = createWorld(() => 'hang');
  const client = world.client();
  trackMany(client, 51);
  const ending = client.shutdown({ deadlineMs: 2_000 });
  await world.pass(2_000);
  expect(await ending).toEqual({ ok: false, pending: 51 });
  expect(world.told.problems).toMatchObject([{ code: 'shutdown_deadline', willRetry: false }]);
  expect(world.told.problems[0]?.events.map(({ uuid }) => uuid)).toEqual(uuids(1, 51));
  expect(world.timers()).toEqual([]);
});

test.for([
  [{ url: 'edge.example' }, 'url_invalid'],
  [{ url: 'ftp://edge.example' }, 'url_invalid'],
  [{ url: 'https://me:secret@edge.example' }, 'url_invalid'],
  [{ url: 'https://edge.example/?key=1' }, 'url_invalid'],
  [{ key: '' }, 'key_invalid'],
  [{ key: 'svc_sk_a\n' }, 'key_invalid'],
  [{ key: undefined }, 'key_invalid'],
  [{ flushAt: 51 }, 'option_invalid'],
  [{ flushIntervalMs: -1 }, 'option_invalid'],
  [{ queueEventsMax: Number.NaN }, 'option_invalid'],
] as const)('%j is a mistake, which is thrown', ([options, code]) => {
  const make = (): Client => new Client({ url: 'https://e.example', key: 'k', ...options } as ClientOptions);
  expect(make).toThrow(ClientError);
  expect(make).toThrow(expect.objectContaining({ code }));
});

test('an address may have a path of its own', async () => {
  const world = createWorld(accepted);
  trackMany(world.client({ url: 'https://shop.example/events/' }), 50);
  await world.pass(0);
  expect(world.requests[0]?.url).toBe('https://shop.example/events/v1/ingest');
});

/** What may become of a request, by a number that is drawn. */
function chaoticService(draws: readonly number[], stored: SentEvent[]): Service {
  let at = 0;
  const store = (request: Parameters<Service>[0]): ReturnType<Service> => {
    stored.push(...request.events);
    return accepted(request);
  };
  return (request) => {
    const draw = draws[at++] ?? 99;
    const { events } = request;
    switch (draw) {
      case 0:
        return new Error('reset before');
      case 1:
        store(request);
        return new Error('the answer was lost');
      case 2:
        return { status: 429, headers: { 'retry-after': '1' } };
      case 3:
        return refusing(503, 'overloaded');
      case 4:
        return { body: '<html>Welcome</html>' };
      case 5:
        return events.length > 3 ? refusing(413, 'events_too_many') : store(request);
      case 6:
        stored.push(...events.slice(1));
        return { body: { accepted: events.length - 1, rejected: [{ index: 0, code: 'c', message: '' }] } };
      case 7:
        stored.push(...events.slice(0, -1));
        return { body: { accepted: events.length - 1, dropped: 1 } };
      case 8:
        store(request);
        return 'hang';
      case 9:
        return refusing(500, 'internal');
      case 10:
        return refusing(400, 'body_not_json');
      default:
        return store(request);
    }
  };
}

/** Each event once: stored, or in one callback. One that is given up after a lost answer may be both. */
function expectConserved(world: World, stored: readonly SentEvent[], tracked: readonly string[]): void {
  const reported = [
    ...world.told.rejected.map(({ event }) => event.uuid),
    ...world.told.dropped.flatMap(({ events }) => events.map(({ uuid }) => uuid)),
    ...world.told.problems.flatMap(({ events }) => events.map(({ uuid }) => uuid)),
  ];
  expect(new Set(reported).size).toBe(reported.length);
  expect(new Set([...stored.map(({ uuid }) => uuid), ...reported])).toEqual(new Set(tracked));
}

test('whatever becomes of requests, each event is stored or reported, and none is made anew', async () => {
  const draws = fc.array(fc.integer({ min: 0, max: 14 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(
      draws,
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 50 }),
      async (drawn, count, flushAt) => {
        const stored: SentEvent[] = [];
        const world = createWorld(chaoticService(drawn, stored), () => 0.5);
        const client = world.client({ flushAt });
        const tracked: string[] = [];
        for (let at = 0; at < count; at += 1) {
          const outcome = client.track({ event: 'e', properties: { at } });
          if (outcome.ok) tracked.push(outcome.uuid);
          if (at % 40 === 0) await world.pass(700);
        }
        await world.pass(3_600_000);
        expect(client.pending).toBe(0);
        expect(Math.max(...world.requests.map(({ events }) => events.length))).toBeLessThanOrEqual(flushAt);
        expectConserved(world, stored, tracked);
      },
    ),
  );
});
