import { monotonicMs, wallMsOf } from '#infra/concurrency/monotonic_clock.ts';
import type { DeliveryConfig } from '#infra/config/stage_config.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import { parseKeyRing } from '#infra/secrets/key_ring.ts';
import { BREAKER_DEFAULTS } from '#pipelines/delivery/breaker.ts';
import { createBreakers } from '#pipelines/delivery/breakers.ts';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { OUTAGE_DEFAULTS } from '#pipelines/delivery/outage.ts';
import { createRefusals } from '#pipelines/delivery/refusals.ts';
import { createSlowSites } from '#pipelines/delivery/slow_sites.ts';
import { createTurns } from '#pipelines/delivery/turns.ts';
import { createUncommittedOutcomes, type UncommittedOutcomes } from '#pipelines/delivery/uncommitted.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Runtime } from '#services/runtime.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { type OutageWatch, watchOutage } from './outage_watch.ts';

/** Breakers kept at the most; one is a few dozen bytes and calm ones take none. */
const BREAKERS_MAX = 100_000;
/** Sites whose refusals, and whose pace, are held at the most. */
const SITES_MAX = 10_000;
/** Calls in flight at the most, so that no site's calls wait for the connections of another's. */
const CALLS_MAX = 64;
/** Outcomes kept at the most until they are committed; some 150 bytes each. */
const UNCOMMITTED_MAX = 100_000;

/** The platform as this process calls it, and what it knows of its health. */
export interface Calls {
  attempts: Attempts;
  watch: OutageWatch;
  uncommitted: UncommittedOutcomes;
  /** Whether nothing is to be asked now of a site's destination. */
  isInTrouble(siteId: string): boolean;
}

/** Opens the way to a platform: connections, breakers, the watch over outages, and what was answered but not committed. */
export function openCalls(
  { metrics, logger, onStop }: Runtime,
  adapter: Adapter,
  table: SettingsTable,
  returned: (siteId: string) => void,
  { baseUrl, allowLoopback, secretsKeys }: Pick<DeliveryConfig, 'baseUrl' | 'allowLoopback' | 'secretsKeys'>,
): Calls {
  const egress = createEgress({
    ...EGRESS_DEFAULTS,
    connectionsMax: CALLS_MAX,
    allowHttp: allowLoopback,
    allowLoopback,
  });
  onStop(() => egress.close());
  const breakers = createBreakers(BREAKER_DEFAULTS, BREAKERS_MAX, monotonicMs);
  const sites = table.destinationsNamed(adapter.name);
  const watch = watchOutage({
    destination: adapter.name,
    config: OUTAGE_DEFAULTS,
    breakers,
    sites: () => sites.size,
    logger,
    nowMs: monotonicMs,
    wallMsOf,
  });
  const shortfall = metrics.counter(
    'svc_delivery_shortfall_events_total',
    'Events that a destination did not take of a call, without saying which',
    [],
  );
  const uncommitted = createUncommittedOutcomes(UNCOMMITTED_MAX);
  const slow = createSlowSites(SITES_MAX, monotonicMs);
  const attempts = createAttempts({
    adapter,
    baseUrl,
    table,
    ring: parseKeyRing(secretsKeys),
    breakers,
    turns: createTurns(CALLS_MAX, slow.isSlow),
    slow,
    isAlone: () => sites.size < 2,
    watch,
    returned,
    egress,
    uncommitted,
    refusals: createRefusals(SITES_MAX, monotonicMs),
    fellShort: (events) => shortfall.inc(events),
    logger,
    nowMs: Date.now,
    monotonicMs,
  });
  const isInTrouble = (siteId: string): boolean => breakers.of(adapter.name, siteId).trouble() !== null;
  return { attempts, watch, uncommitted, isInTrouble };
}
