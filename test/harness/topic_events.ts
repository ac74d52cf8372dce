import { readBatch } from '#schemas/event_batch.ts';
import { readWire } from '#schemas/wire.ts';
import { readTopics } from './topic.ts';

/** The ids of a site's events on an events topic, each as often as it stands there. */
export async function readEventIds(brokers: string, topic: string, site: string): Promise<string[]> {
  const records = await readTopics(brokers, [topic]);
  return records.flatMap(({ value, partition, offset }) => {
    const wire = readWire(value);
    if (!wire.ok) throw new Error(`${topic} ${partition} ${offset} is no EventBatch: ${wire.code}`);
    return readBatch(wire.body).flatMap(({ siteId, eventId }) => (siteId === site ? [eventId] : []));
  });
}
