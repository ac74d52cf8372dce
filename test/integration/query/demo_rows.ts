import { randomUUID } from 'node:crypto';
import { identify } from '#pipelines/identity/identity.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { Event } from '#schemas/event.ts';
import { decodeEntry, type EncodedEvent, encodeEvent } from '#schemas/event_batch.ts';
import type { DemoRequest } from '#services/local/demo/world/demo_event.ts';
import { createWorld } from '#services/local/demo/world/demo_world.ts';
import { createMemoryIdentity } from '#test/contract/identity/memory_identity.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { site } from '#test/unit/settings/samples.ts';

const SECRET = Buffer.alloc(32, 7);
const VISITORS = 400;

/** What the service makes of a small day of the demo's traffic in its site `shop`, each event once. */
export async function demoRows(endsAt: number): Promise<EventRow[]> {
  const world = createWorld({
    seed: 4,
    run: 'page',
    visitors: VISITORS,
    endsAt,
    blockedIps: { shop: '198.51.100.66' },
  });
  const sent = world.requests.filter(({ siteSlot, expect }) => siteSlot === 'shop' && expect.status === 200);
  const taken = sent.flatMap((request) => takenOf(request, endsAt));
  const unique = [...new Map(taken.toReversed().map((event) => [event.event_id, event])).values()].reverse();
  const { entries } = await identify(unique.map(viewOf), createMemoryIdentity(100), SECRET);
  return entries.map(({ view, coordinate, person }) => eventRow({ ...decodeEntry(view), coordinate, person }));
}

function takenOf({ caller, headers, body }: DemoRequest, receivedAtMs: number): Event[] {
  const { events } = JSON.parse(body) as { events: unknown[] };
  return processBatch(events, {
    site: site(),
    caller,
    receivedAtMs,
    clientIp: headers['x-forwarded-for'] ?? null,
    userAgent: headers['user-agent'] ?? null,
    browserSigns: 'origin' in headers,
    prefetch: 'sec-purpose' in headers,
    country: null,
    anonymousSalt: Buffer.alloc(32, 3),
    keyId: '0123456789abcdef',
    identitySecret: SECRET,
    randomEventId: randomUUID,
  }).taken;
}

function viewOf(event: Event, offset: number): EncodedEvent {
  return {
    coordinate: { partition: 0, offset, index: 0 },
    personBytes: Buffer.from([0]),
    eventBytes: encodeEvent(event),
    siteId: event.site_id,
    eventId: event.event_id,
    distinctId: event.distinct_id,
    receivedAtMs: event.received_at,
  };
}
