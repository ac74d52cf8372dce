import { beforeAll, expect, inject, test } from 'vitest';
import { createEventBatchReader, type EventBatchReader } from '#infra/registry/codec.ts';
import { createRegistry, subjectOf } from '#infra/registry/schema_registry.ts';
import { createBatchWriter, decodeEntry, encodeEvent, noPerson } from '#schemas/event_batch.ts';
import { schemaText } from '#schemas/schemas.ts';
import { avroType, writeWire } from '#schemas/wire.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import type {} from '#test/harness/shared_parts.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

const TOPIC = uniqueName('events');
const EVENT = sampleEvent({ order_id: 'order-1', value: 9.5 });
const COORDINATE = { partition: 2, offset: 77, index: 0 };
let reader: EventBatchReader;
let nowMs = 0;
let olderId: number;
let strangeId: number;

async function register(subject: string, schema: string): Promise<number> {
  const response = await fetch(`${inject('parts').addresses.registryUrl}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema }),
  });
  return ((await response.json()) as { id: number }).id;
}

/** Our schema as it may have been before a field was added. */
function olderSchema(): string {
  const line = /\{"name":"order_id",[^}]*\},/;
  expect(schemaText('event_batch')).toMatch(line);
  return schemaText('event_batch').replace(line, '');
}

beforeAll(async () => {
  const registry = createRegistry(inject('parts').addresses.registryUrl, { nowMs: () => nowMs });
  olderId = await register(subjectOf(TOPIC), olderSchema());
  strangeId = await register(uniqueName('strange'), '{"type":"string"}');
  await registry.register(TOPIC, 'event_batch');
  reader = await createEventBatchReader(registry, TOPIC);
});

function currentBatch(): Buffer {
  const writer = createBatchWriter(reader.schemaId);
  writer.add(COORDINATE, noPerson(), encodeEvent(EVENT));
  return writer.finish();
}

test('a batch under our schema is read', async () => {
  const read = await reader.read(currentBatch());
  expect(read.ok && read.value.map(decodeEntry)).toEqual([{ coordinate: COORDINATE, person: null, event: EVENT }]);
});

test('a batch under an older schema is read, what it lacks by its default', async () => {
  const entry = { coordinate: COORDINATE, person: null, event: EVENT };
  const body = avroType(olderSchema()).toBuffer({ events: [entry, entry] });
  const read = await reader.read(writeWire(olderId, body));
  const expected = { ...entry, event: { ...EVENT, order_id: null } };
  expect(read.ok && read.value.map(decodeEntry)).toEqual([expected, expected]);
});

test('what is no batch is told by its reason, an unknown schema after it was waited for', async () => {
  const whole = currentBatch();
  const unknown = writeWire(123_456, whole.subarray(5));
  const cases: [value: Buffer | null, reason: string][] = [
    [null, 'wire_null'],
    [Buffer.from([0, 0, 0]), 'wire_short'],
    [Buffer.from('{"events":[]}'), 'wire_magic'],
    [unknown, 'schema_unknown'],
    [writeWire(strangeId, Buffer.from('\u0006abc')), 'schema_mismatch'],
    [whole.subarray(0, whole.length - 20), 'avro_malformed'],
    [whole.subarray(0, 5), 'avro_malformed'],
    [writeWire(reader.schemaId, Buffer.alloc(40, 0xff)), 'avro_malformed'],
    [writeWire(olderId, Buffer.alloc(40, 0xff)), 'avro_malformed'],
    [Buffer.concat([whole, Buffer.from([1])]), 'avro_malformed'],
  ];
  await expect(reader.read(unknown)).rejects.toMatchObject({ code: 'schema_awaited', recovery: 'wait' });
  nowMs += 20_000;
  const reasons = await Promise.all(cases.map(async ([value]) => reader.read(value)));
  expect(reasons).toEqual(cases.map(([, reason]) => ({ ok: false, reason })));
});
