import { createHash } from 'node:crypto';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import type { MetaSettings } from '#pipelines/delivery/destinations/meta/settings.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import type { WebhookSettings } from '#pipelines/delivery/destinations/webhook/settings.ts';
import { prepare } from '#pipelines/delivery/eligibility.ts';
import type { EventEntry, Identifiers } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { STOREFRONTS } from './world/catalogue.ts';
import type { SiteSlot, WorldEvent } from './world/event.ts';

export const DESTINATIONS = ['meta', 'webhook'] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

/** No setting decides whether an event is sent, so any valid ones serve. */
const META_SETTINGS: MetaSettings = {
  pixel_id: '100000000000000',
  access_token: 'unused',
  version: 'v25.0',
  data_processing: 'unset',
  base_url: 'https://graph.facebook.com',
};
const WEBHOOK_SETTINGS: WebhookSettings = {
  url: 'https://hooks.example.com/',
  secret: `whsec_${'A'.repeat(32)}`,
  batch_events_max: '1',
  include_client_ip: 'no',
};

/** The demo's sites, as far as a destination's choice goes: on line, with no event definitions that switch one off. */
function siteOf(slot: SiteSlot): Site {
  return {
    site_id: slot,
    account_id: 'demo',
    name: slot,
    mode: 'online',
    business_category: slot === 'shop' ? 'ecommerce_retail' : 'travel',
    default_country: null,
    identify_events: null,
    clarity_project_id: null,
    gtm_container_id: null,
    domains: [new URL(STOREFRONTS[slot].origin).host],
    block_rules: [],
    event_definitions: [],
  };
}

function textOf(properties: Record<string, unknown>, name: string): string | null {
  const value = properties[name];
  return typeof value === 'string' ? value : null;
}

function hashed(properties: Record<string, unknown>, name: string): string | null {
  const text = textOf(properties, name);
  return text === null ? null : createHash('sha256').update(text.trim().toLowerCase()).digest('hex');
}

function identifiersOf(properties: Record<string, unknown>): Identifiers {
  const phone = hashed(properties, 'phone');
  return {
    email: hashed(properties, 'email'),
    email_google: null,
    email_stripped: null,
    phone,
    phone_digits: phone,
    first_name: hashed(properties, 'first_name'),
    first_name_google: null,
    last_name: hashed(properties, 'last_name'),
    last_name_google: null,
    external_id: hashed(properties, 'external_id'),
  };
}

/** The event as the pipelines would hand it to a destination, as far as a destination's choice goes. */
function entryOf(event: WorldEvent, receivedAt: number): EventEntry {
  const { properties } = event.wire;
  const value = properties['value'];
  const fromBrowser = event.actionSource === 'website';
  return {
    coordinate: null,
    person: null,
    event: {
      site_id: event.siteSlot,
      event_id: event.eventId,
      distinct_id: event.visitor,
      received_at: receivedAt,
      event: event.name,
      timestamp: event.at,
      original_timestamp: null,
      mode: 'online',
      action_source: event.actionSource,
      caller: fromBrowser ? 'browser' : 'server',
      identify: event.stitches.length > 0,
      identifiers: identifiersOf(properties),
      city: textOf(properties, 'city'),
      state: null,
      zip: textOf(properties, 'zip'),
      country: textOf(properties, 'country'),
      client_ip: '203.0.113.1',
      client_user_agent: fromBrowser ? 'Mozilla/5.0' : null,
      value: typeof value === 'number' ? value : null,
      currency: textOf(properties, 'currency'),
      order_id: textOf(properties, 'order_id'),
      previous_distinct_id: null,
      properties: JSON.stringify(properties),
    },
  };
}

function isSent<Settings>(adapter: Adapter<Settings>, settings: Settings, site: Site, entry: EventEntry): boolean {
  return prepare(adapter, site, settings, entry, entry.event.received_at).kind === 'mapped';
}

/**
 * The event ids that each destination must get, by the rules of the destinations themselves.
 *
 * @param nowMs when the events are sent, milliseconds since 1970 UTC: a destination refuses what is too old by then
 */
export function eligibleIds(
  slot: SiteSlot,
  events: Iterable<WorldEvent>,
  nowMs: number,
): Record<DestinationName, Set<string>> {
  const site = siteOf(slot);
  const ids: Record<DestinationName, Set<string>> = { meta: new Set(), webhook: new Set() };
  for (const event of events) {
    const entry = entryOf(event, nowMs);
    if (isSent(meta, META_SETTINGS, site, entry)) ids.meta.add(event.eventId);
    if (isSent(webhook, WEBHOOK_SETTINGS, site, entry)) ids.webhook.add(event.eventId);
  }
  return ids;
}
