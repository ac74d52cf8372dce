// Every code that a caller may meet. README.md repeats the table.

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
