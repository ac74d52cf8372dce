import type { Logger } from '#infra/log/logger.ts';
import type { AdmissionStore } from '#infra/redis/admission.ts';
import type { Admission, AdmissionRequest } from '#pipelines/limits/admission.ts';
import type { MemoryLimits } from '#pipelines/limits/sliding_window.ts';
import type { ReservationLeases } from './reservation_leases.ts';

/** The counters that all edges share in Redis, and those of this process for as long as Redis does not answer. */
export interface SharedLimits {
  /** Counts a request, and reserves what it wants where the counters are shared. */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** Whether the counters are shared with the other edges. */
  isShared(): boolean;
  stop(): void;
}

export interface SharedLimitsOptions {
  store: AdmissionStore;
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
export async function openSharedLimits(options: SharedLimitsOptions): Promise<SharedLimits> {
  const { store, memory, leases, nowMs, logger } = options;
  let isShared = false;
  let timer: NodeJS.Timeout;

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

  function renewLater(): void {
    timer = setTimeout(() => void renew().then(renewLater), RENEW_MS);
    timer.unref();
  }

  await renew();
  renewLater();
  return {
    async admit(request) {
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
    },
    isShared: () => isShared,
    stop: () => clearTimeout(timer),
  };
}
