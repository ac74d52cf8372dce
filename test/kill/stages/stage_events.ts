import { randomUUID } from 'node:crypto';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Event } from '#schemas/event.ts';
import { createBatchWriter, type EncodedEvent, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import { MalformedError, readWire } from '#schemas/wire.ts';
import { readTopics, type TopicRecord } from '#test/harness/topic.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import type { StageWorld } from './stages_fixture.ts';

/** Events of a site as an edge would have taken them. */
export function events(siteId: string, eventIds: readonly string[], changes: Partial<Event> = {}): Event[] {
  const received_at = Date.now();
  return eventIds.map((event_id, index) => ({
    ...sampleEvent(),
    site_id: siteId,
    event_id,
    distinct_id: `visitor-${index % 7}`,
    received_at,
    timestamp: received_at,
    ...changes,
  }));
}

export function newIds(count: number): string[] {
  return Array.from({ length: count }, () => randomUUID());
}

/** A record of events.raw that holds these events. */
export async function rawRecord({ registry }: StageWorld, taken: readonly Event[]): Promise<Buffer> {
  const writer = createBatchWriter(await registry.idOf(TOPICS.raw, 'event_batch'));
  for (const event of taken) writer.add(null, noPerson(), encodeEvent(event));
  return writer.finish();
}

/** Appends values to one partition of a topic, one record each. */
export async function append(
  { producer }: StageWorld,
  topic: string,
  partition: number,
  values: readonly (Buffer | null)[],
): Promise<void> {
  await producer.send({ topic, acks: -1, messages: values.map((value) => ({ partition, value })) });
}

/** Event ids of a site on an events topic, each as often as it stands there; records that cannot be read are left out. */
export async function idsOn({ session, registry }: StageWorld, topic: string, siteId: string): Promise<string[]> {
  const schemaId = await registry.idOf(topic, 'event_batch');
  const records = await recordsOn(session.config.brokers, topic);
  return records.flatMap(({ value }) => {
    const wire = readWire(value);
    if (!wire.ok || wire.schemaId !== schemaId) return [];
    return readable(wire.body).flatMap((view) => (view.siteId === siteId ? [view.eventId] : []));
  });
}

export function recordsOn(brokers: readonly string[], topic: string): Promise<TopicRecord[]> {
  return readTopics(brokers.join(','), [topic]);
}

/** A record of events.unique that holds these events, each with the coordinate of its place in a record of events.raw. */
export async function uniqueRecord({ registry }: StageWorld, taken: readonly Event[], offset: number): Promise<Buffer> {
  const writer = createBatchWriter(await registry.idOf(TOPICS.unique, 'event_batch'));
  for (const [index, event] of taken.entries()) {
    writer.add({ partition: 0, offset, index }, noPerson(), encodeEvent(event));
  }
  return writer.finish();
}

function readable(body: Buffer): EncodedEvent[] {
  try {
    return readBatch(body);
  } catch (error) {
    if (error instanceof MalformedError) return [];
    throw error;
  }
}
