/** Why an event, or a request body as a whole, was not taken. Messages never repeat what was sent. */
export const REJECTIONS = {
  body_not_object: 'The body must be a JSON object.',
  events_missing: 'The body must have an events array.',
  events_not_array: 'events must be an array.',
  events_empty: 'events must hold at least one event.',
  events_too_many: 'Too many events in one request.',
  event_not_object: 'An event must be a JSON object.',
  event_name_missing: 'event is required.',
  event_name_invalid: 'event must be a string without control characters.',
  event_name_too_long: 'event must have at most 200 characters.',
  uuid_invalid: 'uuid must be a string of 1 to 200 characters without control characters.',
  distinct_id_invalid: 'distinct_id must be a string of 1 to 200 characters without control characters.',
  timestamp_invalid: 'timestamp must be an ISO 8601 date and time.',
  timestamp_too_old: 'timestamp must not be more than two years old.',
  properties_not_object: 'properties must be a JSON object.',
  properties_too_deep: 'properties must not be nested more than 16 levels deep.',
  properties_too_many: 'properties must not hold more than 5000 values.',
  property_name_too_long: 'A property name must have at most 200 characters.',
  event_server_only: 'This event is for server keys only; the site says so.',
  action_source_unknown: '$action_source must be website, physical_store, phone_call, chat, email or system_generated.',
} as const;
export type RejectionCode = keyof typeof REJECTIONS;
