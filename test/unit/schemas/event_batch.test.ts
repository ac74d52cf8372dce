import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import type { Event, EventEntry } from '#schemas/event.ts';
import {
  createBatchWriter,
  decodeEntry,
  decodeEventName,
  decodeIdentityPart,
  encodeEvent,
  encodeEvents,
  encodePerson,
  eventBatchType,
  noPerson,
  readBatch,
} from '#schemas/event_batch.ts';
import { MalformedError, readWire } from '#schemas/wire.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

const person = { person_id: 'p1', identifiers: { ...noIdentifiers(), email: 'ab'.repeat(32) } };

function written(entries: EventEntry[]): Buffer {
  const writer = createBatchWriter(7, 16);
  for (const entry of entries) {
    writer.add(entry.coordinate, entry.person ? encodePerson(entry.person) : noPerson(), encodeEvent(entry.event));
  }
  return writer.finish();
}

function bodyOf(value: Buffer): Buffer {
  const wire = readWire(value);
  if (!wire.ok) throw new Error(wire.code);
  expect(wire.schemaId).toBe(7);
  return wire.body;
}

const entries: EventEntry[] = [
  { coordinate: null, person: null, event: sampleEvent({ event_id: 'one' }) },
  { coordinate: { partition: 3, offset: 2 ** 40 + 5, index: 49 }, person, event: sampleEvent({ event_id: 'zwei ü' }) },
];

describe('EventBatch', () => {
  it('is read back as it was written, through views', () => {
    const views = readBatch(bodyOf(written(entries)));
    expect(views.map(decodeEntry)).toEqual(entries);
    expect(views.map((view) => view.eventId)).toEqual(['one', 'zwei ü']);
  });

  it('says what an event is called, and of a damaged one nothing', () => {
    const bytes = encodeEvent(sampleEvent({ event: 'sign_up' }));
    expect(decodeEventName(bytes)).toBe('sign_up');
    for (const damaged of [Buffer.alloc(0), Buffer.from([0xff]), bytes.subarray(0, 20)]) {
      expect(decodeEventName(damaged)).toBeNull();
    }
  });

  it('is an ordinary Avro array to any reader', () => {
    const decoded = eventBatchType.fromBuffer(bodyOf(written(entries))) as { events: EventEntry[] };
    expect(JSON.parse(JSON.stringify(decoded.events))).toEqual(entries);
  });

  it('is read when another writer wrote one plain block', () => {
    const views = readBatch(eventBatchType.toBuffer({ events: entries }));
    expect(views.map(decodeEntry)).toEqual(entries);
  });

  it.each([0, 1, 20, 500, 9_000, 70_000, 300_000])('encodes events of %i characters as the writer does', (length) => {
    const events = ['a', 'é'].map((one) => sampleEvent({ properties: one.repeat(length) }));
    const { count, value } = encodeEvents(7, events, 0, 50, 2 ** 20);
    const expected = written(events.map((event) => ({ coordinate: null, person: null, event })));
    expect(count).toBe(2);
    expect(Buffer.compare(value, expected)).toBe(0);
  });

  it('encodes as many events as a record may have, from one on', () => {
    const events = ['a', 'b', 'c', 'd'].map((event_id) => sampleEvent({ event_id }));
    const idsOf = (...limits: [from: number, eventsMax: number, bytesMax: number]): string[] =>
      readBatch(bodyOf(encodeEvents(7, events, ...limits).value)).map(({ eventId }) => eventId);
    expect(idsOf(1, 2, 2 ** 20)).toEqual(['b', 'c']);
    expect(idsOf(1, 50, 2 ** 20)).toEqual(['b', 'c', 'd']);
    expect(idsOf(0, 50, 10)).toEqual(['a']);
  });

  it('passes the bytes of an event on unchanged', () => {
    const [, second] = readBatch(bodyOf(written(entries)));
    expect(second && Buffer.compare(second.eventBytes, encodeEvent((entries[1] as EventEntry).event))).toBe(0);
  });

  it('gives identity its part without the rest', () => {
    const event: Event = sampleEvent({ identify: true, identifiers: person.identifiers, previous_distinct_id: 'a1' });
    expect({ ...decodeIdentityPart(encodeEvent(event)) }).toEqual({
      mode: 'online',
      identify: true,
      identifiers: person.identifiers,
      previous_distinct_id: 'a1',
      event: event.event,
      caller: event.caller,
      historical: false,
    });
  });

  it('refuses every truncation and never loops or misreads', () => {
    const body = bodyOf(written(entries));
    for (let length = 0; length < body.length; length++) {
      expect(() => readBatch(body.subarray(0, length)).map(decodeEntry)).toThrow();
    }
  });

  it('meets random bytes with MalformedError or a batch, never with a crash', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          readBatch(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
    );
  });

  it('meets a person of an unknown branch with MalformedError', () => {
    const oneEventOfNoCoordinate = [2, 0];
    const branch = 47;
    expect(() => readBatch(Buffer.from([...oneEventOfNoCoordinate, branch]))).toThrow(MalformedError);
  });
});
