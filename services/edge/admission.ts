// Rate limits and the month's allowance, shared by the edges in Redis and held in this process while it does not
// answer.

import { randomUUID } from 'node:crypto';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { RateLimitStore } from '#infra/redis/quota/admission.ts';
import {
  type Admission,
  type AdmissionRequest,
  allowanceWithGrace,
  createBlocked,
  createOwnCount,
  type Limited,
  type MemoryLimits,
  monthOf,
  type RateState,
} from '#pipelines/quota/limits.ts';
import type { Account, ApiKey } from '#schemas/setting.ts';

interface Requester {
  key: ApiKey;
  account: Account;
  /** The peer's address after trusted proxies. */
  clientIp: string;
}

/** Events that may be produced, and the lease they are reserved under. */
export interface Reservation {
  accountId: string;
  month: string;
  granted: number;
  /** Empty where nobody could be asked. */
  lease: string;
}

export type Admitted = { ok: true; reservation: Reservation; rate: RateState | null } | Limited;

export interface RateLimiter {
  /** Whether it is known, without asking, that a request would be refused. */
  limited(requester: Requester): Limited | null;
  /** Counts a request and reserves what it wants of the month its events arrive in. */
  admit(requester: Requester, arrivedMs: number, wanted: number): Promise<Admitted>;
  /** Counts a request that was admitted as so many more of its requester; it is refused none. */
  charge(requester: Requester, arrivedMs: number, requests: number): Promise<void>;
  /** Gives back reserved events that certainly were not produced. */
  release(reservation: Reservation, events: number): void;
  /** Of reserved events it is not known whether they were produced. */
  markUncertain(reservation: Reservation): void;
  /** Whether the counters are shared with the other edges. */
  isShared(): boolean;
  stop(): void;
}

interface AdmitterOptions extends SharedLimitsOptions {
  /** Who calls, as the limits count it; null where an address is exempt. */
  addressOf(clientIp: string): string | null;
  metrics: Metrics;
}

/**
 * Asks Redis, which all edges share. While it does not answer, the same limits hold in this process alone, and the month
 * goes on from the usage known last: nothing waits for Redis to come back.
 */
export async function createRateAndQuotaLimiter(options: AdmitterOptions): Promise<RateLimiter> {
  const { store, leases, addressOf, metrics } = options;
  const counters = {
    limited: metrics.counter('svc_edge_limited_total', 'Requests refused by a rate limit', ['limit']),
    reserved: metrics.counter('svc_edge_reserved_total', 'Events reserved of an allowance', []),
    released: metrics.counter('svc_edge_released_total', 'Reserved events given back, as not produced', []),
  };
  const blocked = createBlocked(options.nowMs);
  const own = createOwnCount();
  const limits = await openSharedLimits(options);

  function refused(limited: Limited): Limited {
    counters.limited.inc({ limit: limited.kind });
    return limited;
  }

  const requestOf = ({ key, account, clientIp }: Requester, arrivedMs: number) => ({
    address: addressOf(clientIp),
    key: key.key_hash,
    keyLimit: key.rate_limit,
    requests: 1,
    accountId: account.account_id,
    month: monthOf(arrivedMs),
    monthLimit: allowanceWithGrace(account.monthly_allowance),
  });

  return {
    limited({ key, clientIp }) {
      const found = blocked.find(addressOf(clientIp), key.key_hash);
      return found === null ? null : refused(found);
    },
    async admit(requester, arrivedMs, wanted) {
      const request = { ...requestOf(requester, arrivedMs), wanted, lease: leases.current() };
      const { accountId, month, monthLimit, lease } = request;
      const { verdict, granted, known } = await limits.admit(request);
      if (!verdict.ok) {
        blocked.add(verdict, request.address, request.key);
        return refused(verdict);
      }
      if (granted === null) {
        const ungranted = own.grant(accountId, month, monthLimit, wanted);
        return { ok: true, rate: verdict.rate, reservation: { accountId, month, granted: ungranted, lease: '' } };
      }
      own.learn(accountId, month, known);
      if (granted > 0) counters.reserved.inc(granted);
      return { ok: true, rate: verdict.rate, reservation: { accountId, month, granted, lease } };
    },
    async charge(requester, arrivedMs, requests) {
      await limits.admit({ ...requestOf(requester, arrivedMs), requests, wanted: 0, lease: '' });
    },
    release({ accountId, month, lease }, events) {
      if (events === 0) return;
      if (lease === '') {
        own.releaseUnused(accountId, month, events);
        return;
      }
      counters.released.inc(events);
      store.release(accountId, month, lease, events).catch(() => leases.markUncertain());
    },
    markUncertain({ lease }) {
      if (lease !== '') leases.markUncertain();
    },
    isShared: limits.isShared,
    stop: limits.stop,
  };
}

interface SharedLimitsOptions {
  store: RateLimitStore;
  memory: MemoryLimits;
  leases: ReservationLeases;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
  logger: Logger;
}

const RENEW_MS = 1_000;

/**
 * Renews the edge's leases once a second, which tells whether Redis answers. While it does not, nobody asks it: the same
 * limits hold in this process alone.
 */
async function openSharedLimits(options: SharedLimitsOptions) {
  const { store, memory, leases, nowMs, logger } = options;
  let isShared = false;
  let timer: NodeJS.Timeout;

  function lost(error: unknown): void {
    if (isShared) logger.warn({ err: error }, 'Redis unavailable, falling back to local rate limits');
    isShared = false;
  }

  async function renew(): Promise<void> {
    try {
      await leases.renew();
      if (!isShared) logger.info('rate limits are shared through Redis');
      isShared = true;
    } catch (error) {
      lost(error);
    }
  }

  function renewLater(): void {
    timer = setTimeout(() => void renew().then(renewLater), RENEW_MS);
    timer.unref();
  }

  await renew();
  renewLater();
  return {
    /** Counts a request, and reserves what it wants where the counters are shared. */
    async admit(request: AdmissionRequest): Promise<Admission> {
      if (isShared) {
        try {
          return await store.admit(request);
        } catch (error) {
          // It may have reserved all the same.
          leases.markUncertain();
          lost(error);
        }
      }
      const { address, key, keyLimit, requests } = request;
      return { verdict: memory.take(address, key, nowMs(), keyLimit, requests), granted: null, known: 0 };
    },
    isShared: () => isShared,
    stop: () => clearTimeout(timer),
  };
}

interface ReservationLeasesOptions {
  /** Renews leases; answers whether usage is known. */
  renew(leases: readonly string[], leaseMs: number): Promise<boolean>;
  leaseMs: number;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
}

/** The Kafka client may deliver what it was once given for as long as it tries again: far less than this. */
const RETIRED_MS = 10 * 60_000;

type ReservationLeases = ReturnType<typeof createReservationLeases>;

/**
 * The leases under which this edge reserves. A lease is renewed for as long as what was reserved under it may still reach
 * Kafka; once it has ended, the quota stage gives back what never arrived.
 */
export function createReservationLeases({ renew, leaseMs, nowMs }: ReservationLeasesOptions) {
  let current = randomUUID();
  let isDoubted = false;
  let isKnown = false;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  const retired = new Map<string, number>();

  const isLive = (): boolean => nowMs() - renewedAtMs < leaseMs / 2;

  function retire(): void {
    retired.set(current, nowMs() + RETIRED_MS);
    current = randomUUID();
    isDoubted = false;
  }

  return {
    /** The lease to reserve under now; empty where it is not known to live. */
    current: (): string => (isKnown && isLive() ? current : ''),
    /** Of what was reserved under the present lease some may never arrive. */
    markUncertain(): void {
      isDoubted = true;
    },
    /** Renews the leases, with a new lease where there is doubt. Throws where that failed. */
    async renew(): Promise<void> {
      // A lease that may have ended is never used again: what was reserved under it may have been given back.
      if (isDoubted || (renewedAtMs > 0 && !isLive())) retire();
      for (const [lease, untilMs] of retired) if (untilMs < nowMs()) retired.delete(lease);
      const askedAtMs = nowMs();
      isKnown = await renew([current, ...retired.keys()], leaseMs);
      renewedAtMs = askedAtMs;
    },
  };
}
