// How a caller learns what became of their events: callbacks that cannot break the queue.
import type { SentEvent } from './event.ts';
import { type DeliveryCode, PROBLEMS, type TrackCode } from './problems.ts';

export interface RejectedEvent {
  event: SentEvent;
  /** The service's stable code, such as `timestamp_too_old`. */
  code: string;
  message: string;
}

export interface DroppedEvents {
  /** `quota`: the account's allowance is used up. `filtered`: a robot's, or held back by a rule of the site. */
  reason: 'quota' | 'filtered';
  count: number;
  /** Those sent among which they are; exactly they, where there are as many. */
  events: readonly SentEvent[];
}

export interface ClientProblem {
  code: TrackCode | DeliveryCode;
  message: string;
  /** What the service or the platform says of it, as a code: `ECONNREFUSED`, `key_revoked`. */
  detail: string | null;
  /** Whether the events are still the client's, and are sent again. */
  willRetry: boolean;
  /** Given up; empty where there are none. */
  events: readonly SentEvent[];
}

export interface Callbacks {
  onRejected?: ((rejected: RejectedEvent) => unknown) | undefined;
  onDropped?: ((dropped: DroppedEvents) => unknown) | undefined;
  /** Without one, each code is written to the console once. */
  onError?: ((problem: ClientProblem) => unknown) | undefined;
}

export interface Report {
  rejected(rejected: RejectedEvent): void;
  dropped(dropped: DroppedEvents): void;
  problem(code: ClientProblem['code'], about?: Partial<Omit<ClientProblem, 'code' | 'message'>>): void;
}

export function createReport({ onRejected, onDropped, onError }: Callbacks): Report {
  const logged = new Set<string>();
  const log = (code: string, message: string): void => {
    if (logged.has(code)) return;
    logged.add(code);
    console.warn(`event-ingest-client: ${code}: ${message}`);
  };

  function problem(code: ClientProblem['code'], about: Parameters<Report['problem']>[1] = {}): void {
    const message = PROBLEMS[code];
    // Of a callback that throws there is nobody else to tell.
    const onFailed = (): void => log('callback_failed', PROBLEMS.callback_failed);
    if (onError === undefined) log(code, message);
    else call(onError, { code, message, detail: null, willRetry: false, events: [], ...about }, onFailed);
  }
  const onFailed = (): void => problem('callback_failed');

  return {
    problem,
    rejected(rejected) {
      if (onRejected === undefined) log('rejected', `The service rejected an event: ${rejected.code}.`);
      else call(onRejected, rejected, onFailed);
    },
    dropped(dropped) {
      if (onDropped === undefined) log('dropped', `The service dropped events: ${dropped.reason}.`);
      else call(onDropped, dropped, onFailed);
    },
  };
}

/** Calls back, and takes what it throws, or what its promise is rejected with. */
function call<T>(callback: (value: T) => unknown, value: T, onFailed: () => void): void {
  try {
    Promise.resolve(callback(value)).catch(onFailed);
  } catch {
    onFailed();
  }
}
