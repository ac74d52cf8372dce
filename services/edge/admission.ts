import type { Metrics } from '#infra/metrics/metrics.ts';
import { allowanceWithGrace, type Limited, type RateState } from '#pipelines/limits/admission.ts';
import { createOwnCount } from '#pipelines/limits/own_count.ts';
import { monthOf } from '#pipelines/quota/month.ts';
import type { Account, ApiKey } from '#schemas/setting.ts';
import { createBlocked } from './blocked.ts';
import { openSharedLimits, type SharedLimitsOptions } from './shared_limits.ts';

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

export interface AdmitterOptions extends SharedLimitsOptions {
  /** Who calls, as the limits count it; null where an address is exempt. */
  addressOf(clientIp: string): string | null;
  metrics: Metrics;
}

/**
 * Asks Redis, which all edges share. While it does not answer, the same limits hold in this process alone, and the month
 * goes on from the usage known last: nothing waits for Redis to come back.
 */
export async function createAdmitter(options: AdmitterOptions): Promise<Admitter> {
  const { store, leases, addressOf } = options;
  const counters = createCounters(options.metrics);
  const blocked = createBlocked(options.nowMs);
  const own = createOwnCount();
  const limits = await openSharedLimits(options);

  function refused(limited: Limited): Limited {
    counters.limited.inc({ limit: limited.kind });
    return limited;
  }

  return {
    limited({ key, clientIp }) {
      const found = blocked.find(addressOf(clientIp), key.key_hash);
      return found === null ? null : refused(found);
    },
    async admit({ key, account, clientIp }, arrivedMs, wanted) {
      const address = addressOf(clientIp);
      const accountId = account.account_id;
      const month = monthOf(arrivedMs);
      const monthLimit = allowanceWithGrace(account.monthly_allowance);
      const lease = leases.current();
      const { key_hash, rate_limit: keyLimit } = key;
      const request = { address, key: key_hash, keyLimit, accountId, month, monthLimit, wanted, lease };
      const { verdict, granted, known } = await limits.admit(request);
      if (!verdict.ok) {
        blocked.add(verdict, address, key_hash);
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
    release({ accountId, month, lease }, events) {
      if (events === 0) return;
      if (lease === '') {
        own.giveBack(accountId, month, events);
        return;
      }
      counters.released.inc(events);
      store.release(accountId, month, lease, events).catch(() => leases.doubt());
    },
    doubt({ lease }) {
      if (lease !== '') leases.doubt();
    },
    isShared: limits.isShared,
    stop: limits.stop,
  };
}

function createCounters(metrics: Metrics) {
  return {
    limited: metrics.counter('svc_edge_limited_total', 'Requests refused by a rate limit', ['limit']),
    reserved: metrics.counter('svc_edge_reserved_total', 'Events reserved of an allowance', []),
    released: metrics.counter('svc_edge_released_total', 'Reserved events given back, as not produced', []),
  };
}
