import { expect, test } from 'vitest';
import {
  countRejection,
  HOUR_MS,
  type IngestionWarning,
  newRejectionCounts,
  type RejectionCounts,
} from '#pipelines/ingestion_warnings/warnings.ts';

const MALFORMED: IngestionWarning = { kind: 'rejected', code: 'event_name_missing' };
const TOLD = { keyId: 'k', caller: 'browser', event: 'buy', index: 0, fields: [] } as const;

function note(notes: RejectionCounts, refusal: IngestionWarning, atMs: number, times = 1): number {
  let asked = 0;
  for (let time = 0; time < times; time += 1) {
    countRejection(notes, refusal, atMs, () => {
      asked += 1;
      return TOLD;
    });
  }
  return asked;
}

test('every refusal is counted, by hour and reason', () => {
  const notes = newRejectionCounts();
  note(notes, MALFORMED, 0, 5);
  note(notes, MALFORMED, HOUR_MS);
  note(notes, { kind: 'dropped', code: 'bot' }, HOUR_MS);
  expect(Object.fromEntries(notes.counts)).toEqual({
    '0:rejected:event_name_missing': 5,
    '1:rejected:event_name_missing': 1,
    '1:dropped:bot': 1,
  });
});

test('of a reason two samples are taken until notes are passed on, and 20 in all; no more are made', () => {
  const notes = newRejectionCounts();
  expect(note(notes, MALFORMED, 7, 100)).toBe(2);
  expect(notes.samples[0]).toEqual({ atMs: 7, ...MALFORMED, ...TOLD });
  for (let code = 0; code < 30; code += 1) note(notes, { kind: 'refused', code: `c${code}` }, 7);
  expect(notes.samples).toHaveLength(20);
});

test('of counts by hour and reason the newest 4,096 stay', () => {
  const notes = newRejectionCounts();
  for (let hour = 0; hour < 4_999; hour += 1) note(notes, MALFORMED, hour * HOUR_MS, 3);
  expect(notes.counts.size).toBe(4_096);
  expect(notes.counts.has('902:rejected:event_name_missing')).toBe(false);
  expect(notes.counts.get('4998:rejected:event_name_missing')).toBe(3);
});
