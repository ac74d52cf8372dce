// Every code that a caller may meet (README.md repeats the table), and how they learn what became of their events: callbacks that cannot
// break the queue.

import type { SentEvent } from './event.ts';

/** Why an event was not taken: what `track` answers. */
const TRACK_PROBLEMS = {
  event_invalid: 'An event must be an object.',
  event_field_unknown:
    'An event has event, uuid, distinctId, timestamp, properties and shopper; anything else belongs into properties.',
  event_name_invalid: 'event must be a string of 1 to 200 characters without control characters.',
  uuid_invalid: 'uuid must be a string of 1 to 200 characters without control characters.',
  distinct_id_invalid: 'Ids must be strings of 1 to 200 characters without control characters.',
  timestamp_invalid: 'timestamp must be a Date, milliseconds since 1970 or an ISO 8601 text.',
  properties_invalid: 'properties must be an object.',
  value_invalid: 'properties.value must be a finite number.',
  action_source_invalid: 'actionSource must be physical_store, phone_call, chat, email or system_generated.',
  event_not_serialisable: 'The event cannot be written as JSON: it is circular, or a getter throws.',
  event_too_large: 'The event is larger than a request may be.',
  queue_full: 'The queue is full; the event was not taken.',
  client_closed: 'The client was shut down; the event was not taken.',
} as const;
export type TrackCode = keyof typeof TRACK_PROBLEMS;

/** Why something was not sent, or not yet: what `onError` gets. */
const DELIVERY_PROBLEMS = {
  network_failed: 'The service could not be reached.',
  timed_out: 'The service did not answer in time.',
  answer_foreign: 'The answer is not one of the service: a proxy or a captive portal gave it, or the address is wrong.',
  rate_limited: 'The service limits the rate.',
  unavailable: 'The service is unavailable.',
  key_refused: 'The service refuses the key or the address.',
  request_refused: 'The service refuses the request.',
  too_large: 'The service refuses the event as too large.',
  shutdown_deadline: 'The events were not acknowledged before the deadline; the last ones may have been stored.',
  callback_failed: 'A callback threw.',
  journal_failed: 'The journal could not be written; the events are in memory only.',
  journal_lost: 'Another process has taken over the journal; nothing more is written to it.',
  journal_unreadable: 'The journal has lines that cannot be read; they were left out.',
} as const;
export type DeliveryCode = keyof typeof DELIVERY_PROBLEMS;

/** Mistakes of a program, which are thrown. */
const MISUSES = {
  url_invalid: 'url must be an http or https address without credentials, query and fragment.',
  key_invalid: 'key must be the key of a site, without blanks.',
  option_invalid: 'An option is out of its range.',
  fetch_missing: 'There is no fetch here; pass one as an option.',
  journal_folder_invalid: 'The folder of the journal cannot be made or read.',
  journal_locked: 'Another process uses the folder of the journal.',
  journal_taken: 'A journal serves one client, once.',
} as const;
export type MisuseCode = keyof typeof MISUSES;

export const PROBLEMS = { ...TRACK_PROBLEMS, ...DELIVERY_PROBLEMS, ...MISUSES };

/** A mistake in how the client was set up. `code` is stable. */
export class ClientError extends Error {
  readonly code: MisuseCode;

  constructor(code: MisuseCode, detail?: string) {
    super(detail === undefined ? MISUSES[code] : `${MISUSES[code]} ${detail}`);
    this.name = 'ClientError';
    this.code = code;
  }
}

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
