import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { OUTAGE_DEFAULTS } from '#pipelines/delivery/breaker.ts';
import { destinationNamed } from '#pipelines/delivery/registry.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import { openDeliveries } from '#services/delivery/attempts.ts';
import type { Runtime } from '#services/stage/runtime.ts';

const HOUR_MS = 3_600_000;

afterEach(() => void vi.useRealTimers());

test('a time of day that is set back by an hour keeps nobody waiting for an hour', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: HOUR_MS * 10 });
  const logger = pino({ level: 'silent' });
  const runtime = { metrics: createMetrics('delivery.webhook'), logger, onStop: () => undefined };
  const config = { baseUrl: null, allowLoopback: true, secretsKeys: `k1:${randomBytes(32).toString('base64')}` };
  const returned = (): void => undefined;
  const webhook = destinationNamed('webhook');
  const { watch } = openDeliveries(runtime as unknown as Runtime, webhook, createSettingsTable(), returned, config);
  for (let failures = 0; failures < 2 * OUTAGE_DEFAULTS.failuresMax; failures++) {
    watch.report(`site-${failures}`, { kind: 'failing', reason: 'http_500' });
  }
  expect(watch.ask()).toEqual({ kind: 'wait', notBeforeMs: Date.now() + OUTAGE_DEFAULTS.awayMs });
  vi.setSystemTime(Date.now() - HOUR_MS);
  // What rests is given the time of day as it is now.
  expect(watch.ask()).toEqual({ kind: 'wait', notBeforeMs: Date.now() + OUTAGE_DEFAULTS.awayMs });
  expect(watch.awayUntilMs()).toBe(Date.now() + OUTAGE_DEFAULTS.awayMs);
  vi.advanceTimersByTime(OUTAGE_DEFAULTS.awayMs);
  expect(watch.ask().kind).toBe('probe');
});
