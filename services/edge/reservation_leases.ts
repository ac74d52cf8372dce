import { randomUUID } from 'node:crypto';

/**
 * The leases under which this edge reserves. A lease is renewed for as long as what was reserved under it may still reach
 * Kafka; once it has ended, the quota stage gives back what never arrived.
 */
export interface ReservationLeases {
  /** The lease to reserve under now; empty where it is not known to live. */
  current(): string;
  /** Of what was reserved under the present lease some may never arrive. */
  doubt(): void;
  /** Renews the leases, with a new lease where there is doubt. Throws where that failed. */
  renew(): Promise<void>;
}

export interface ReservationLeasesOptions {
  /** Renews leases; answers whether usage is known. */
  renew(leases: readonly string[], leaseMs: number): Promise<boolean>;
  leaseMs: number;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
}

/** The Kafka client may deliver what it was once given for as long as it tries again: far less than this. */
const RETIRED_MS = 10 * 60_000;

export function createReservationLeases({ renew, leaseMs, nowMs }: ReservationLeasesOptions): ReservationLeases {
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
    current: () => (isKnown && isLive() ? current : ''),
    doubt() {
      isDoubted = true;
    },
    async renew() {
      // A lease that may have ended is never used again: what was reserved under it may have been given back.
      if (isDoubted || (renewedAtMs > 0 && !isLive())) retire();
      for (const [lease, untilMs] of retired) if (untilMs < nowMs()) retired.delete(lease);
      const askedAtMs = nowMs();
      isKnown = await renew([current, ...retired.keys()], leaseMs);
      renewedAtMs = askedAtMs;
    },
  };
}
