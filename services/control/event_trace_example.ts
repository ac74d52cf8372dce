import type { EventTrace } from '#pipelines/query/event_trace_shapes.ts';

const RECEIVED = Date.UTC(2027, 0, 5, 12);

/** An answer as people would get it; a test holds it against its schema. */
export const EVENT_TRACE_EXAMPLE: EventTrace & { as_of: number } = {
  site_id: 'acme-shop',
  event_id: 'order-2001',
  accepted: {
    received_at: RECEIVED,
    caller: 'server',
    key: { key_id: '9f86d081884c7d65', shown_prefix: 'svc_sk_AbCd', label: 'till' },
    coordinate: { partition: 3, offset: 41_007, index: 0 },
  },
  row: {
    event: 'purchase',
    timestamp: RECEIVED - 2_000,
    original_timestamp: null,
    distinct_id: 'till-7',
    mode: 'online',
    action_source: 'physical_store',
    identify: true,
    identifiers: { email: '2c26b46b' },
    city: '',
    state: '',
    zip: '',
    country: 'BE',
    client_ip: '',
    client_user_agent: '',
    value: 12.5,
    currency: 'EUR',
    order_id: '2001',
    properties: { plan: 'paid' },
  },
  rows_stored: 1,
  duplicates: {
    seen: 1,
    copies: [
      {
        received_at: RECEIVED + 3_000,
        event: 'purchase',
        key: { key_id: '9f86d081884c7d65', shown_prefix: 'svc_sk_AbCd', label: 'till' },
        coordinate: { partition: 3, offset: 41_012, index: 0 },
        times: 1,
      },
    ],
  },
  person: {
    person_id: 'p_0b7e',
    arrived_person_id: 'p_51c9',
    distinct_person_id: 'p_51c9',
    links: [{ person_id: 'p_51c9', target: 'p_0b7e', since: RECEIVED + 60_000, first_seen: RECEIVED - 86_400_000 }],
    identified_by: [{ identifier: 'email', digest_begin: '2c26b46b', since: RECEIVED, event_id: 'order-2001' }],
  },
  destinations: [
    {
      destination: 'webhook',
      state: 'delivered',
      reason: '',
      attempts: [
        {
          attempt: 1,
          attempted_at: RECEIVED + 400,
          outcome: 'diverted',
          reason: 'http_503',
          took_ms: 31,
          answer: { status: 503, body: 'try again later' },
        },
        {
          attempt: 2,
          attempted_at: RECEIVED + 61_000,
          outcome: 'delivered',
          reason: '',
          took_ms: 28,
          answer: { status: 200, body: '' },
        },
      ],
    },
  ],
  dead_letters: null,
  status: [
    'Accepted 2027-01-05T12:00:00.000Z with the server key svc_sk_AbCd… (till), as event 0 of events.raw 3/41007.',
    'Stored as "purchase" of distinct id "till-7", happened 2027-01-05T11:59:58.000Z.',
    'It came once more, 2027-01-05T12:00:03.000Z, and was dropped as a duplicate.',
    'Its person is p_0b7e: p_51c9, whom its distinct id stands for, became part of them 2027-01-05T12:01:00.000Z.',
    'The distinct id was first identified by email (SHA-256 2c26b46b…) 2027-01-05T12:00:00.000Z, by event "order-2001".',
    'webhook: delivered 2027-01-05T12:01:01.000Z, attempted 2 times, answered 200.',
  ],
  as_of: RECEIVED + 120_000,
};
