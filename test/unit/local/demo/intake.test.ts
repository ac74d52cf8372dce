import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { prepare } from '#pipelines/delivery/deliver.ts';
import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { identityNodes } from '#pipelines/identity/identity.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import type { Event } from '#schemas/event.ts';
import { type Site, TAG_DEFAULTS } from '#schemas/setting.ts';
import { dueIds } from '#services/local/demo/compare.ts';
import { type DemoRequest, SITE_SLOTS, type SiteSlot } from '#services/local/demo/world/demo_event.ts';
import { createWorld } from '#services/local/demo/world/demo_world.ts';

const ENDS_AT = Date.UTC(2026, 10, 20, 21);
const BLOCKED = '198.51.100.66';
const world = createWorld({ seed: 4, run: 'intake', visitors: 500, endsAt: ENDS_AT, blockedIps: { shop: BLOCKED } });
const SECRET = Buffer.alloc(32, 7);

function siteOf(slot: SiteSlot): Site {
  return {
    site_id: slot,
    account_id: 'demo',
    name: slot,
    mode: 'online',
    business_category: 'other',
    default_country: null,
    identify_events: null,
    server_only_events: [],
    clarity_project_id: null,
    gtm_container_id: null,
    tag: TAG_DEFAULTS,
    domains: [],
    loader_prefix: null,
    block_rules: slot === 'shop' ? [{ kind: 'ip', value: BLOCKED, property: null }] : [],
    event_definitions: [],
  };
}
const SITES = { shop: siteOf('shop'), travel: siteOf('travel') };

/** What the edge's rules make of the request's body. */
function take({ siteSlot, caller, headers, body }: DemoRequest) {
  return processBatch((JSON.parse(body) as { events: unknown[] }).events, {
    site: SITES[siteSlot],
    caller,
    receivedAtMs: ENDS_AT,
    clientIp: headers['x-forwarded-for'] ?? null,
    userAgent: headers['user-agent'] ?? null,
    browserSigns: 'origin' in headers,
    prefetch: 'sec-purpose' in headers,
    country: null,
    anonymousSalt: Buffer.alloc(32, 3),
    keyId: '0123456789abcdef',
    identitySecret: SECRET,
    randomEventId: randomUUID,
  });
}

const served = world.requests
  .filter((request) => request.expect.status !== 413)
  .map((request) => ({ request, batch: take(request) }));
const firsts = (slot: SiteSlot): Map<string, Event> => {
  const events = served.filter(({ request }) => request.siteSlot === slot).flatMap(({ batch }) => batch.taken);
  return new Map(events.toReversed().map((event) => [event.event_id, event]));
};

/** People by the service's own identifiers: distinct ids joined by the nodes of their events. */
function countPeople(events: Iterable<Event>): number {
  const groups = new Map<string, Set<string>>();
  for (const event of events) {
    const names = [`visitor ${event.distinct_id}`, ...identityNodes(SECRET, event.site_id, event)];
    const joined = new Set([...names, ...names.flatMap((name) => [...(groups.get(name) ?? [])])]);
    for (const name of joined) groups.set(name, joined);
  }
  return new Set(groups.values()).size;
}

describe('the edge’s own rules', () => {
  it('take, reject and filter what the world expects of every request', () => {
    const surprises = served.filter(
      ({ request, batch }) =>
        batch.taken.length !== request.expect.accepted || batch.rejected.length !== request.expect.rejected,
    );
    expect(surprises).toEqual([]);
  });

  it.each(SITE_SLOTS)('give the event ids, names and times of the ledger on %s', (slot) => {
    const taken = [...firsts(slot).values()].map(
      ({ event_id, event, timestamp }) => `${event_id} ${event} ${timestamp}`,
    );
    const due = [...world.ledger.sites[slot].unique.values()].map(
      ({ eventId, name, at }) => `${eventId} ${name} ${at}`,
    );
    expect(taken.toSorted()).toEqual(due.toSorted());
  });

  it.each(SITE_SLOTS)('join as many people on %s, whichever copy of an event comes first', (slot) => {
    expect(countPeople(firsts(slot).values())).toBe(world.ledger.sites[slot].people);
    const lasts = new Map(
      served
        .filter(({ request }) => request.siteSlot === slot)
        .flatMap(({ batch }) => batch.taken.map((event) => [event.event_id, event])),
    );
    expect(countPeople(lasts.values())).toBe(world.ledger.sites[slot].people);
  });

  it.each(SITE_SLOTS)('make the same events of %s eligible for Meta, whichever copy comes first', (slot) => {
    const settings = {
      pixel_id: '12345',
      access_token: 't',
      version: 'v25.0',
      data_processing: 'unset',
      base_url: 'https://graph.facebook.com',
    } as const;
    const due = dueIds('meta', world.ledger.sites[slot].unique.values(), ENDS_AT);
    const wrong = served
      .filter(({ request }) => request.siteSlot === slot)
      .flatMap(({ batch }) => batch.taken)
      .filter(
        (event) =>
          (prepare(
            { adapter: meta, id: 'meta', settings, rules: [] },
            SITES[slot],
            { coordinate: null, person: null, event },
            ENDS_AT,
          ).kind ===
            'mapped') !==
          due.has(event.event_id),
      );
    expect(wrong).toEqual([]);
  });
});
