import { expect, test } from 'vitest';
import { identify } from '#pipelines/identity/identify.ts';
import { basePersonId } from '#pipelines/identity/resolve.ts';
import type { Event } from '#schemas/event.ts';
import { type EntryView, encodeEvent } from '#schemas/event_batch.ts';
import { createMemoryIdentity } from '#test/contract/identity/memory_identity.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

const SECRET = Buffer.alloc(32, 7);

function viewsOf(events: readonly Partial<Event>[]): EntryView[] {
  return events.map((changes, index) => {
    const event = sampleEvent({ event_id: `e${index}`, ...changes });
    return {
      coordinate: { partition: 0, offset: index, index: 0 },
      personBytes: Buffer.from([0]),
      eventBytes: encodeEvent(event),
      siteId: event.site_id,
      eventId: event.event_id,
      distinctId: event.distinct_id,
      receivedAtMs: event.received_at,
    };
  });
}

async function personsOf(events: readonly Partial<Event>[]): Promise<string[]> {
  const { entries } = await identify(viewsOf(events), createMemoryIdentity(100), SECRET);
  return entries.map(({ person }) => person.person_id);
}

test('an event that names another id of its visitor joins the two, in whatever order they come', async () => {
  const link = { event: '$identify', identify: true, distinct_id: 'u1', previous_distinct_id: 'a1' };
  const [first] = await personsOf([link]);
  expect(await personsOf([link, { distinct_id: 'a1' }, { distinct_id: 'u1' }])).toEqual([first, first, first]);
  expect(await personsOf([{ distinct_id: 'b1' }, link, { distinct_id: 'b1' }])).toEqual([
    basePersonId('shop', 'b1'),
    first,
    basePersonId('shop', 'b1'),
  ]);
});

test('one event has one person, and its links are written once each', async () => {
  const link = { event: '$identify', identify: true, distinct_id: 'u1', previous_distinct_id: 'a1' };
  const { entries, links } = await identify(viewsOf([link]), createMemoryIdentity(100), SECRET);
  expect(entries).toHaveLength(1);
  const edges = links.filter(({ kind }) => kind === 'edge');
  expect(new Set(edges.map(({ target }) => target)).size).toBe(1);
  expect(edges.map(({ person_id }) => person_id)).toEqual([basePersonId('shop', 'a1'), basePersonId('shop', 'u1')]);
});

test('an event that may not stitch joins nothing', async () => {
  const link = { identify: false, distinct_id: 'u1', previous_distinct_id: 'a1' };
  const [visitor, previous] = await personsOf([link, { distinct_id: 'a1' }]);
  expect(visitor).not.toBe(previous);
});
