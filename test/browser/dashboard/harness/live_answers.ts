import type { Listing, RecentEventsQuery } from '#pipelines/analytics/event_lists.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import type { StubApi } from './stub_api.ts';

type ListedEvent = Listing['events'][number];

const LIMIT = 50;

/** An event of a shop, the n-th since the test began. */
function eventOf(n: number, receivedMs: number, more: Partial<ListedEvent> = {}): ListedEvent {
  const names = ['page_view', 'view_item', 'add_to_cart', 'purchase'];
  return {
    event_id: `0199f6c2-0000-7000-8000-${String(n).padStart(12, '0')}`,
    event: names[n % names.length] ?? 'page_view',
    timestamp: receivedMs - 40,
    received_at: receivedMs,
    distinct_id: `visitor-${n % 97}`,
    person_id: `p-${n % 97}`,
    action_source: 'website',
    mode: 'online',
    country: 'DE',
    value: n % 4 === 3 ? 42.5 : null,
    currency: n % 4 === 3 ? 'EUR' : '',
    order_id: '',
    properties: { $current_url: `https://shop.example/p/${n % 13}`, size: n % 5 },
    ...more,
  };
}

/** Events at a steady rate since a moment, newest first as the service lists them. */
export function withLive(api: StubApi, sinceMs: number, perSecond: number, more: Partial<ListedEvent> = {}): StubApi {
  return api.on('POST', /\/live$/, (body) => {
    const { received_after = 0, received_before = Number.POSITIVE_INFINITY, limit = LIMIT } = body as RecentEventsQuery;
    const last = Math.floor(((Date.now() - sinceMs) * perSecond) / 1_000);
    const events: ListedEvent[] = [];
    for (let n = last; n >= 0 && events.length < limit; n -= 1) {
      const receivedMs = sinceMs + Math.floor((n * 1_000) / perSecond);
      if (receivedMs <= received_after) break;
      if (receivedMs >= received_before) continue;
      events.push(eventOf(n, receivedMs, more));
    }
    return { events, as_of: Date.now() };
  });
}

/** The way of an event that two destinations took differently. */
export function withTrace(api: StubApi, more: Partial<EventTrace> = {}): StubApi {
  return api.on('GET', /\/events\//, (_body, url) => ({
    ...traceOf(decodeURIComponent(url.pathname.split('/').at(-1) ?? '')),
    ...more,
  }));
}

const AT_MS = Date.UTC(2026, 10, 21, 12);

function traceOf(event_id: string): EventTrace {
  const key = { key_id: '0123456789abcdef', shown_prefix: 'svc_pk_ab12', label: 'shop' };
  const coordinate = { partition: 3, offset: 1_204, index: 0 };
  const attempt = {
    attempt: 1,
    attempted_at: AT_MS + 900,
    reason: '',
    took_ms: 120,
    answer: { status: 200, body: '{"ok":true}' },
  };
  return {
    ...{ site_id: 'shop', event_id, rows_stored: 1, dead_letters: null, status: [] },
    accepted: { received_at: AT_MS, caller: 'browser', key, coordinate },
    duplicates: {
      seen: 1,
      copies: [
        { received_at: AT_MS + 400, event: 'purchase', key, coordinate: { ...coordinate, offset: 1_209 }, times: 1 },
      ],
    },
    row: {
      ...{
        event: 'purchase',
        timestamp: AT_MS - 40,
        original_timestamp: null,
        distinct_id: 'visitor-7',
        mode: 'online',
      },
      ...{
        action_source: 'website',
        identify: true,
        identifiers: { email: 'a1b2c3d4' },
        ad_storage: 'granted',
        analytics_storage: 'granted',
        ad_user_data: 'denied',
        ad_personalization: 'denied',
        consent_defaults: 'ad_user_data,ad_personalization',
        limited_data_use: false,
        historical: false,
        ...{ geo_country: 'DE', geo_region: 'Berlin', geo_city: 'Berlin', browser: 'Firefox', browser_version: '144' },
        ...{ os: 'Linux', os_version: '', device_type: 'desktop', language: 'de-DE', screen_class: 'very large' },
        city: 'Berlin',
        state: '',
        zip: '',
      },
      ...{
        country: 'DE',
        client_ip: '203.0.113.0',
        client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
        value: 42.505,
      },
      ...{
        currency: 'KWD',
        order_id: 'o-1',
        properties: { $current_url: 'https://shop.example/thanks', items: [{ id: 'a' }] },
      },
    },
    person: {
      ...{ person_id: 'p-7', arrived_person_id: 'p-7', distinct_person_id: 'p-9' },
      links: [{ person_id: 'p-9', target: 'p-7', since: AT_MS + 500, first_seen: AT_MS - 86_400_000 }],
      identified_by: [{ identifier: 'email', digest_begin: 'a1b2c3d4', since: AT_MS, event_id }],
    },
    destinations: [
      { destination: 'meta', state: 'delivered', reason: '', attempts: [{ ...attempt, outcome: 'delivered' }] },
      {
        ...{ destination: 'webhook', state: 'waiting', reason: 'http_503' },
        attempts: [{ ...attempt, outcome: 'diverted', reason: 'http_503', answer: { status: 503, body: 'try later' } }],
      },
    ],
  };
}
