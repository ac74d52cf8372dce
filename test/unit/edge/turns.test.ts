import { afterEach, expect, test, vi } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import type { RateLimiter } from '#services/edge/admission.ts';
import { createIngestService } from '#services/edge/ingest_service.ts';
import { createRejectionRecorder } from '#services/edge/site_activity.ts';
import { newEvent } from '#test/harness/ingest.ts';
import { account, apiKey, site } from '#test/unit/settings/samples.ts';

/** How many turns of the event loop others get until so many events are admitted and cleaned. */
async function turnsUntilSent(events: number): Promise<number> {
  let turns = 0;
  let isSent = false;
  const count = (): void => {
    turns += 1;
    if (!isSent) setImmediate(count);
  };
  setImmediate(count);
  const rateLimiter: RateLimiter = {
    limited: () => null,
    async admit(_requester, _arrivedMs, wanted) {
      return { ok: true, rate: null, reservation: { accountId: 'a', month: '2026-10', granted: wanted, lease: '' } };
    },
    release: () => undefined,
    markUncertain: () => undefined,
    charge: async () => undefined,
    isShared: () => false,
    stop: () => undefined,
  };
  const ingestService = createIngestService({
    rateLimiter,
    sender: {
      async send() {
        isSent = true;
        return { ok: true };
      },
    } as never,
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
  });
  const peer = {
    clientIp: '203.0.113.9',
    userAgent: 'node',
    browserSigns: false,
    prefetch: false,
    gpc: false,
    span: null,
  };
  const caller = { key: apiKey({ caller: 'server' }), site: site({}), account: account() };
  const sent = Array.from({ length: events }, () => newEvent());
  expect(await ingestService.accept(sent, peer, caller)).toMatchObject({ ok: true, accepted: events });
  return turns;
}

afterEach(() => vi.restoreAllMocks());

test('while a long batch is cleaned other requests get their turns', async () => {
  // A clock on which each event takes half a millisecond or more: how fast the machine is changes nothing.
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 0.5));
  expect(await turnsUntilSent(2_500)).toBeGreaterThanOrEqual(200);
});
