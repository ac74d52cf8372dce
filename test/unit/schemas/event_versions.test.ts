import { expect, test } from 'vitest';
import { consentState, readConsent } from '#pipelines/events/consent.ts';
import type { EventEntry } from '#schemas/event.ts';
import { decodeEntry, eventBatchType, readBatch } from '#schemas/event_batch.ts';
import { schemaText } from '#schemas/schemas.ts';
import { avroType } from '#schemas/wire.ts';
import { sampleEvent } from './sample_event.ts';

/** The schema of the version before, whose events had no state of consent. */
const older = avroType(schemaText('event_batch').replace(/,\{"name":"consent",.*?\}\]\}\],[^}]*\}/, ''));
const entry = (changes: object): EventEntry => ({
  coordinate: { partition: 1, offset: 2, index: 3 },
  person: null,
  event: sampleEvent(changes),
});
const consent = consentState(readConsent({ gcs: 'G101', gpc: 1 }), false);

test('an event of the version before is read as one whose consent was not kept', () => {
  const { consent: _consent, ...event } = sampleEvent();
  const bytes = older.toBuffer({ events: [{ ...entry({}), event }] });
  expect(bytes.length).toBeLessThan(eventBatchType.toBuffer({ events: [entry({})] }).length);
  const read = eventBatchType.fromBuffer(bytes, eventBatchType.createResolver(older));
  expect(readBatch(eventBatchType.toBuffer(read)).map(decodeEntry)).toEqual([entry({ consent: null })]);
});

test('the version before reads an event with its consent, without that', () => {
  const bytes = eventBatchType.toBuffer({ events: [entry({ consent })] });
  const read = older.fromBuffer(bytes, older.createResolver(eventBatchType)) as { events: EventEntry[] };
  const { consent: _consent, ...event } = sampleEvent();
  expect(JSON.parse(JSON.stringify(read.events))).toEqual([{ ...entry({}), event }]);
});
