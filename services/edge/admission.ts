import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { AdmissionStore } from '#infra/redis/admission.ts';
import type { Limited } from '#pipelines/limits/admission.ts';
import { type Admission, allowanceWithGrace, type RateState } from '#pipelines/limits/admission.ts';
import { createOwnCount } from '#pipelines/limits/own_count.ts';
import type { MemoryLimits } from '#pipelines/limits/sliding_window.ts';
import { monthOf } from '#pipelines/quota/month.ts';
import type { Account, ApiKey } from '#schemas/setting.ts';
import { createBlocked } from './blocked.ts';
import type { ReservationLeases } from './reservation_leases.ts';

/** Who makes a request, as the limits see it. */
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

/** Both rate limits and the month's allowance. */
export interface Admitter {
  /** Whether it is known, without asking, that a request would be refused. */
  limited(requester: Requester): Limited | null;
  /** Counts a request and reserves what it wants of the month its events arrive in. */
  admit(requester: Requester, arrivedMs: number, wanted: number): Promise<Admitted>;
  /** Gives back reserved events that certainly were not produced. */
  release(reservation: Reservation, events: number): void;
  /** Of reserved events it is not known whether they were produced. */
  doubt(reservation: Reservation): void;
  /** Whether the counters are shared with the other edges. */
  isShared(): boolean;
  stop(): void;
}

export interface AdmitterOptions {
  store: AdmissionStore;
  memory: MemoryLimits;
  leases: ReservationLeases;
  /** Who calls, as the limits count it; null where an address is exempt. */
  addressOf(clientIp: string): string | null;
  nowMs(): number;
  metrics: Metrics;
  logger: Logger;
}

const RENEW_MS = 1_000;

/**
 * Asks Redis, which all edges share. While it does not answer, the same limits hold in this process alone, and the month
 * goes on from the usage known last: nothing waits for Redis to come back.
 */
export async function createAdmitter(options: AdmitterOptions): Promise<Admitter> {
  const { store, memory, leases, nowMs, metrics, logger } = options;
  const limitedRequests = metrics.counter('svc_edge_limited_total', 'Requests refused by a rate limit', ['limit']);
  const reserved = metrics.counter('svc_edge_reserved_total', 'Events reserved of an allowance', []);
  const released = metrics.counter('svc_edge_released_total', 'Reserved events given back, as not produced', []);
  const blocked = createBlocked(nowMs);
  const own = createOwnCount();
  let isShared = false;

  function lost(error: unknown): void {
    if (isShared) logger.warn({ err: error }, 'limits are counted in this process alone');
    isShared = false;
  }

  async function renew(): Promise<void> {
    try {
      await leases.renew();
      if (!isShared) logger.info('limits are shared with the other edges');
      isShared = true;
    } catch (error) {
      lost(error);
    }
  }

  async function ask(request: Parameters<AdmissionStore['admit']>[0]): Promise<Admission> {
    if (isShared) {
      try {
        return await store.admit(request);
      } catch (error) {
        // It may have reserved all the same.
        leases.doubt();
        lost(error);
      }
    }
    return { verdict: memory.take(request.address, request.key, nowMs(), request.keyLimit), granted: null, known: 0 };
  }

  function count(limited: Limited): Limited {
    limitedRequests.inc({ limit: limited.kind });
    return limited;
  }

  await renew();
  let timer: NodeJS.Timeout;
  const tick = (): void => {
    timer = setTimeout(() => void renew().then(tick), RENEW_MS);
    timer.unref();
  };
  tick();

  return {
    limited({ key, clientIp }) {
      const address = options.addressOf(clientIp);
      const found = blocked.find(address, key.key_hash);
      return found === null ? null : count(found);
    },
    async admit({ key, account, clientIp }, arrivedMs, wanted) {
      const address = options.addressOf(clientIp);
      const accountId = account.account_id;
      const month = monthOf(arrivedMs);
      const monthLimit = allowanceWithGrace(account.monthly_allowance);
      const lease = leases.current();
      const { key_hash, rate_limit: keyLimit } = key;
      const admission = await ask({ address, key: key_hash, keyLimit, accountId, month, monthLimit, wanted, lease });
      const { verdict, granted } = admission;
      if (!verdict.ok) {
        blocked.add(verdict, address, key.key_hash);
        return count(verdict);
      }
      if (granted === null) {
        const ungranted = own.grant(accountId, month, monthLimit, wanted);
        return { ok: true, rate: verdict.rate, reservation: { accountId, month, granted: ungranted, lease: '' } };
      }
      own.learn(accountId, month, admission.known);
      if (granted > 0) reserved.inc(granted);
      return { ok: true, rate: verdict.rate, reservation: { accountId, month, granted, lease } };
    },
    release({ accountId, month, lease }, events) {
      if (lease === '' || events === 0) return;
      released.inc(events);
      store.release(accountId, month, lease, events).catch(() => leases.doubt());
    },
    doubt({ lease }) {
      if (lease !== '') leases.doubt();
    },
    isShared: () => isShared,
    stop: () => clearTimeout(timer),
  };
}
