import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test, vi } from 'vitest';
import type { SendResult } from '#infra/kafka/sender.ts';
import { createMetrics } from '#infra/metrics/metrics.ts';
import type { RateLimiter } from '#services/edge/admission.ts';
import { type AcceptOptions, createIngestService, type IngestService } from '#services/edge/ingest_service.ts';
import { createRejectionRecorder } from '#services/edge/site_activity.ts';
import { newEvent } from '#test/harness/ingest.ts';
import { account, apiKey, site } from '#test/unit/settings/samples.ts';

const released: number[] = [];
const rateLimiter: RateLimiter = {
  limited: () => null,
  async admit(_requester, _arrivedMs, wanted) {
    return { ok: true, rate: null, reservation: { accountId: 'a', month: '2026-10', granted: wanted, lease: '' } };
  },
  release: (_reservation, events) => void released.push(events),
  markUncertain: () => undefined,
  charge: async () => undefined,
  isShared: () => false,
  stop: () => undefined,
};

function serviceWith(send: () => Promise<SendResult>, more: Partial<AcceptOptions> = {}): IngestService {
  return createIngestService({
    rateLimiter,
    sender: { send } as never,
    schemaId: 1,
    partitions: 4,
    anonymousSalt: () => Buffer.alloc(32, 1),
    identitySecret: Buffer.alloc(32, 2),
    randomEventId: () => '019a6a5d-ac96-774b-bcce-b302099a8057',
    nowMs: () => Date.UTC(2026, 10, 10),
    rejections: createRejectionRecorder({
      metrics: createMetrics('edge'),
      note: async () => undefined,
      markCounted: async () => undefined,
      secret: Buffer.alloc(32, 2),
      nowMs: Date.now,
    }),
    readAccepted: () => () => undefined,
    metrics: createMetrics('edge'),
    ...more,
  });
}

const peer = {
  clientIp: '203.0.113.9',
  userAgent: 'node',
  browserSigns: false,
  prefetch: false,
  gpc: false,
  span: null,
};
const caller = { key: apiKey({ caller: 'server' }), site: site({}), account: account() };

afterEach(() => {
  vi.restoreAllMocks();
  released.length = 0;
});

test('while a long batch is cleaned other requests get their turns', async () => {
  // A clock on which each event takes half a millisecond or more: how fast the machine is changes nothing.
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 0.5));
  let turns = 0;
  let isSent = false;
  const count = (): void => {
    turns += 1;
    if (!isSent) setImmediate(count);
  };
  setImmediate(count);
  const service = serviceWith(async () => {
    isSent = true;
    return { ok: true };
  });
  const sent = Array.from({ length: 2_500 }, () => newEvent());
  expect(await service.accept(sent, peer, caller)).toMatchObject({ ok: true, accepted: 2_500 });
  expect(turns).toBeGreaterThanOrEqual(200);
});

const EVENTS = 20;

/** Those that are alive while Kafka is waited for; a function of its own, as what it has would live on in the test's. */
async function aliveOf(first: () => object): Promise<number> {
  let answer: (result: SendResult) => void = () => undefined;
  const sent = Promise.withResolvers<void>();
  const service = serviceWith(() => {
    sent.resolve();
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const { accepting, held } = accept(service, first);
  await sent.promise;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // A reference that was looked through lives to the end of its turn.
  await new Promise(setImmediate);
  collect();
  const alive = held.filter((event) => event.deref() !== undefined).length;
  answer({ ok: true });
  await accepting;
  return alive;
}

function accept(service: IngestService, first: () => object) {
  const events = [first(), ...Array.from({ length: EVENTS - 1 }, () => newEvent())];
  const held = events.map((event) => new WeakRef(event));
  return { accepting: service.accept(events, peer, caller), held };
}

test('nothing of its events is alive while Kafka is waited for, whatever is wrong with one', async () => {
  expect(await aliveOf(newEvent)).toBe(0);
  expect(await aliveOf(() => newEvent({ event: '' }))).toBe(0);
  expect(await aliveOf(() => ({ ...newEvent(), uuid: undefined }))).toBe(0);
});

test('a failure that nobody foresaw gives the place of all events back', async () => {
  const failed = new Error('nobody foresaw');
  const service = serviceWith(async () => ({ ok: true }), {
    readAccepted() {
      throw failed;
    },
  });
  await expect(service.accept([newEvent(), newEvent({ event: '' })], peer, caller)).rejects.toBe(failed);
  expect(released).toEqual([2]);
});
