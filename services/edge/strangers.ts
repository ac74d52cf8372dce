import type { Limited } from '#pipelines/limits/admission.ts';
import { createMemoryLimits } from '#pipelines/limits/sliding_window.ts';
import { createBlocked } from './blocked.ts';

/** Requests whose body had to be looked at for a key, and had none that is valid. */
export interface Strangers {
  /** Whether an address has sent so many that no more of its bodies are looked at now. */
  limited(clientIp: string): Limited | null;
  /** Counts one. */
  saw(clientIp: string): void;
}

export interface StrangersOptions {
  /** In `windowMs`; 0: no limit. */
  requestsMax: number;
  windowMs: number;
  /** Who calls, as the limits count it; null where an address is exempt. */
  addressOf(clientIp: string): string | null;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
}

/** Counted in this process alone: what it protects is this process. */
export function createStrangers({ requestsMax, windowMs, addressOf, nowMs }: StrangersOptions): Strangers {
  const limits = createMemoryLimits({ windowMs, perIp: requestsMax, perKey: 0 });
  const blocked = createBlocked(nowMs);
  return {
    limited: (clientIp) => blocked.find(addressOf(clientIp), ''),
    saw(clientIp) {
      const address = addressOf(clientIp);
      const verdict = limits.take(address, null, nowMs());
      if (!verdict.ok) blocked.add(verdict, address, '');
    },
  };
}
