import type { Event } from '#schemas/event.ts';

/** A page view with every optional field empty, to be changed where a test cares. */
export function sampleEvent(changes: Partial<Event> = {}): Event {
  return {
    site_id: 'shop',
    event_id: '0190a6f0-0000-7000-8000-000000000001',
    distinct_id: 'visitor-1',
    received_at: 1_790_000_000_000,
    event: 'page_view',
    timestamp: 1_790_000_000_000,
    original_timestamp: null,
    mode: 'online',
    action_source: 'website',
    caller: 'browser',
    identify: false,
    identifiers: null,
    city: null,
    state: null,
    zip: null,
    country: null,
    client_ip: '203.0.113.9',
    client_user_agent: 'Mozilla/5.0',
    value: null,
    currency: null,
    order_id: null,
    properties: '{"url":"https://shop.example/"}',
    previous_distinct_id: null,
    further_identifiers: [],
    key_id: null,
    consent: null,
    historical: false,
    ...changes,
  };
}
