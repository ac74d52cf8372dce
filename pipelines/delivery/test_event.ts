import type { EventEntry } from '#schemas/event.ts';

/** An event that somebody asks for to see what a destination makes of it. */
export interface TestEvent {
  siteId: string;
  eventId: string;
  name: string;
  /** Milliseconds since 1970 UTC. */
  nowMs: number;
}

/** Of an address and an id that are nobody's, so that platforms that match people have something to match by. */
const NOBODY = {
  email: '973dfe463ec85785f5f95af5ba3906eedb2d931c24e69824a89ea65dba4e813b',
  external_id: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
} as const;
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
/** Of the range that is kept for documentation. */
const ADDRESS = '203.0.113.7';
/** By which whoever looks at the platform's side knows it. */
const MARK = { svc_test: true, $current_url: 'https://test.example/', $title: 'Test event' } as const;

/** The event, marked as a test, with one unit of money for those that want a value. */
export function testEntry({ siteId, eventId, name, nowMs }: TestEvent): EventEntry {
  const none = { email_google: null, email_stripped: null, phone: null, phone_digits: null, first_name: null };
  const identifiers = { ...none, ...NOBODY, first_name_google: null, last_name: null, last_name_google: null };
  return {
    coordinate: null,
    person: null,
    event: {
      ...{ site_id: siteId, event_id: eventId, distinct_id: eventId, event: name },
      ...{ received_at: nowMs, timestamp: nowMs, original_timestamp: null },
      ...{ mode: 'online', action_source: 'website', caller: 'server', identify: false, identifiers },
      ...{ city: null, state: null, zip: null, country: null, client_ip: ADDRESS, client_user_agent: BROWSER },
      ...{ value: 1, currency: 'EUR', order_id: eventId, previous_distinct_id: null },
      properties: JSON.stringify(MARK),
    },
  };
}

/** The setting by which a platform is told that an event is a test, where its kind of destination has one. */
export const TEST_SETTING = 'test_event_code';
