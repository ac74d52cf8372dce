import { consentState, readConsent } from '#pipelines/events/consent.ts';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import type { Event, EventEntry, Identifiers, Person } from '#schemas/event.ts';
import { type Site, TAG_DEFAULTS } from '#schemas/setting.ts';

/** 2026-03-10T12:00:00Z */
export const NOW_MS = 1_773_144_000_000;

export const NO_IDENTIFIERS = noIdentifiers();

export function siteOf(changes: Partial<Site> = {}): Site {
  return {
    site_id: 'site_1',
    account_id: 'account_1',
    name: 'Shop',
    mode: 'online',
    business_category: 'ecommerce_retail',
    default_country: 'US',
    identify_events: null,
    server_only_events: [],
    clarity_project_id: null,
    gtm_container_id: null,
    tag: TAG_DEFAULTS,
    domains: [],
    loader_prefix: null,
    block_rules: [],
    event_definitions: [],
    ...changes,
  };
}

export interface EntryChanges extends Partial<Omit<Event, 'properties' | 'identifiers'>> {
  properties?: Record<string, unknown>;
  identifiers?: Partial<Identifiers> | null;
  person?: Person | null;
}

/** An event that every destination takes, changed as a case asks. */
export function entryOf(changes: EntryChanges = {}): EventEntry {
  const { properties, identifiers, person, ...rest } = changes;
  const given = properties ?? { $current_url: 'https://shop.example/thanks' };
  const event: Event = {
    site_id: 'site_1',
    event_id: '0190a1b2-0000-7000-8000-000000000001',
    distinct_id: 'visitor_1',
    received_at: NOW_MS - 1_000,
    event: 'purchase',
    timestamp: NOW_MS - 2_000,
    original_timestamp: null,
    mode: 'online',
    action_source: 'website',
    caller: 'browser',
    identify: false,
    identifiers: identifiers === null ? null : { ...NO_IDENTIFIERS, email: 'e'.repeat(64), ...identifiers },
    city: null,
    state: null,
    zip: null,
    country: null,
    client_ip: '203.0.113.7',
    client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0',
    value: 49.9,
    currency: 'EUR',
    order_id: 'order-1',
    previous_distinct_id: null,
    properties: JSON.stringify(given),
    consent: consentState(readConsent(given), null),
    ...rest,
  };
  return { coordinate: { partition: 0, offset: 7, index: 0 }, person: person ?? null, event };
}

export const personOf = (identifiers: Partial<Identifiers>): Person => ({
  person_id: 'person_1',
  identifiers: { ...NO_IDENTIFIERS, ...identifiers },
});

/** Entries with event ids event_0, event_1, ... */
export const manyEntries = (count: number, changes: EntryChanges = {}): EventEntry[] =>
  Array.from({ length: count }, (_, index) => entryOf({ ...changes, event_id: `event_${index}` }));
