import { expect, test } from 'vitest';
import type { InBatch } from '#infra/kafka/consumer/consumption.ts';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { DEAD_BYTES_MAX, poisonPillDeadLetters } from '#pipelines/redelivery/dead_letter.ts';
import { mayHoldEvents, refusedAsIs, sourcePosition } from '#pipelines/redelivery/resend.ts';
import type { SourcePosition } from '#schemas/event.ts';
import { createBatchWriter, type EncodedEvent, encodeEvent, readBatch } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { deadLetterResult } from '#services/stage/batches.ts';
import { sampleEvent } from '../schemas/sample_event.ts';

const RAW = 'events.raw';
const DIED_AT = 1_800_000_000_000;
const registry: Registry = { register: async () => 1, idOf: async () => 1, typeOf: async () => null };

/** A record of so many events, the first of which may be large, with coordinates from a place on, or without. */
function record(events: number, from: SourcePosition | null, bytes = 0): { value: Buffer; views: EncodedEvent[] } {
  const writer = createBatchWriter(1);
  const noPerson = Buffer.from([0]);
  const plain = createBatchWriter(1);
  for (let index = 0; index < events; index++) {
    const properties = index === 0 ? JSON.stringify({ text: 'x'.repeat(bytes) }) : '{}';
    plain.add(null, noPerson, encodeEvent(sampleEvent({ event_id: `e${index}`, properties })));
  }
  for (const [index, { eventBytes }] of readBatch(plain.finish().subarray(WIRE_HEADER_BYTES)).entries()) {
    writer.add(from && { ...from, index: from.index + index }, noPerson, eventBytes);
  }
  const value = writer.finish();
  return { value, views: readBatch(value.subarray(WIRE_HEADER_BYTES)) };
}

const viewsOf = ({ bytes }: DeadLetter): EncodedEvent[] => readBatch(bytes.subarray(WIRE_HEADER_BYTES));

test.for<[string, { stage: string; topic: string; from: SourcePosition | null }, SourcePosition]>([
  ['of raw, by their places in it', { stage: 'dedup', topic: RAW, from: null }, { partition: 3, offset: 70, index: 0 }],
  [
    'of a later topic, by their own coordinates',
    { stage: 'identity', topic: 'events.unique', from: { partition: 5, offset: 9, index: 4 } },
    { partition: 5, offset: 9, index: 4 },
  ],
])('each event of a record that kills the process has a letter that can be sent in again: %s', ([, at, first]) => {
  const { value, views } = record(200, at.from);
  const pill = { ...at, partition: 3, offset: 70, value, views, rawTopic: RAW, schemaId: 1 };
  const deadLetters = poisonPillDeadLetters(pill, DIED_AT);
  const places = deadLetters.map(({ topic, partition, offset, index }) => ({ topic, partition, offset, index }));
  expect(places).toEqual(views.map((_view, place) => ({ topic: RAW, ...first, index: first.index + place })));
  expect(new Set(deadLetters.map(({ reason, died_at }) => `${reason} ${died_at}`))).toEqual(
    new Set([`poison_pill ${DIED_AT}`]),
  );
  expect(deadLetters.map(refusedAsIs)).toEqual(views.map(() => null));
  const again = deadLetters.map((deadLetter) => viewsOf(deadLetter).map((view) => sourcePosition(deadLetter, view, 0)));
  expect(again).toEqual(views.map((_view, place) => [{ ...first, index: first.index + place }]));
});

test('the largest event that a request may hold is kept whole', () => {
  const { value, views } = record(2, null, 256 * 1024);
  const pill = { stage: 'dedup', topic: RAW, partition: 0, offset: 1, value, views, rawTopic: RAW, schemaId: 1 };
  const [large] = poisonPillDeadLetters(pill, DIED_AT);
  expect([large?.bytes.length, mayHoldEvents(large as DeadLetter)]).toEqual([large?.bytes_total, true]);
});

test('a record whose events cannot be read has one letter, cut where it is too large', () => {
  const value = Buffer.alloc(DEAD_BYTES_MAX + 1);
  const pill = { stage: 'quota', topic: 'quota.counts', partition: 2, offset: 8, value, views: null };
  const deadLetters = poisonPillDeadLetters({ ...pill, rawTopic: RAW, schemaId: 1 }, DIED_AT);
  expect(deadLetters).toMatchObject([{ topic: 'quota.counts', partition: 2, offset: 8, index: -1 }]);
  expect([deadLetters[0]?.bytes.length, deadLetters[0]?.bytes_total]).toEqual([DEAD_BYTES_MAX, DEAD_BYTES_MAX + 1]);
});

test('letters of a delivery name each destination, without which they could not be sent in again', async () => {
  const { value, views } = record(3, { partition: 1, offset: 4, index: 0 });
  const codec = await createCodec<DeadLetter>(registry, 'dead.delivery', 'dead_letter');
  const work = {
    stage: 'delivery',
    destinationsOf: async () => () => ['webhook', 'webhook-crm'],
    codec,
    metrics: createMetrics('delivery.webhook'),
  } as const;
  const batch = { topic: 'delivery.webhook.retry.5s', partition: 0, records: [{ offset: 6, value }] };
  const { outputs } = await deadLetterResult(
    { ...work, schemaId: 1, partitions: 2, viewsOf: async () => views },
    batch as unknown as InBatch,
  );
  const read = await Promise.all(outputs.map((one) => codec.decode(one.value)));
  const deadLetters = read.flatMap((one) => (one.ok ? [one.value] : []));
  expect(deadLetters.map(({ destination }) => destination)).toEqual(
    [1, 2, 3].flatMap(() => ['webhook', 'webhook-crm']),
  );
  expect(deadLetters.every((deadLetter) => refusedAsIs(deadLetter) === null)).toBe(true);
});
