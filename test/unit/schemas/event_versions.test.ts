import { expect, test } from 'vitest';
import type { EventEntry } from '#schemas/event.ts';
import { decodeEntry, eventBatchType, readBatch } from '#schemas/event_batch.ts';
import { schemaText } from '#schemas/schemas.ts';
import { avroType } from '#schemas/wire.ts';
import { sampleEvent } from './sample_event.ts';

/** The schema of the version before, whose events had no key. */
const older = avroType(schemaText('event_batch').replace(/,\{"name":"key_id",[^}]*\}/, ''));
const entry = (changes: object): EventEntry => ({
  coordinate: { partition: 1, offset: 2, index: 3 },
  person: null,
  event: sampleEvent(changes),
});

test('an event of the version before is read as one whose key was not kept', () => {
  const { key_id: _keyId, ...event } = sampleEvent();
  const bytes = older.toBuffer({ events: [{ ...entry({}), event }] });
  const read = eventBatchType.fromBuffer(bytes, eventBatchType.createResolver(older));
  expect(readBatch(eventBatchType.toBuffer(read)).map(decodeEntry)).toEqual([entry({ key_id: null })]);
});

test('the version before reads an event with its key, without that', () => {
  const bytes = eventBatchType.toBuffer({ events: [entry({ key_id: '9f86d081884c7d65' })] });
  const read = older.fromBuffer(bytes, older.createResolver(eventBatchType)) as { events: EventEntry[] };
  const { key_id: _keyId, ...event } = sampleEvent();
  expect(JSON.parse(JSON.stringify(read.events))).toEqual([{ ...entry({}), event }]);
});
