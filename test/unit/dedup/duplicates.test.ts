import { expect, test } from 'vitest';
import { duplicatesOf } from '#pipelines/dedup/dedup.ts';
import { encodeEvent } from '#schemas/event_batch.ts';
import { sampleEvent } from '../schemas/sample_event.ts';

const FIRST = { partition: 3, offset: 40, index: 1 };
const whole = encodeEvent(sampleEvent({ key_id: '9f86d081884c7d65' }));

function dropped(eventId: string, offset: number, eventBytes = whole) {
  const coordinate = { partition: 2, offset, index: 0 };
  const head = { siteId: 'shop', eventId, distinctId: 'd', receivedAtMs: 1_000 + offset };
  return {
    entry: {
      view: { ...head, coordinate, personBytes: Buffer.alloc(0), eventBytes },
      coordinate,
      recordOffset: offset,
    },
    first: FIRST,
  };
}

test('a copy is listed with its key, its place and that of the event that passed', () => {
  expect(duplicatesOf([dropped('a', 41)])).toEqual([
    {
      ...{ site_id: 'shop', event_id: 'a', received_at: 1_041, key_id: '9f86d081884c7d65', times: 1 },
      event: sampleEvent().event,
      ...{ raw_partition: 2, raw_offset: 41, raw_index: 0, first_partition: 3, first_offset: 40, first_index: 1 },
    },
  ]);
});

test('of a storm of one event the first five copies are listed, and the last counts the others', () => {
  const storm = Array.from({ length: 1_000 }, (_, at) => dropped('a', 100 + at));
  const listed = duplicatesOf([...storm.slice(0, 500), dropped('b', 41), ...storm.slice(500)]);
  expect(listed.map(({ event_id, raw_offset, times }) => [event_id, raw_offset, times])).toEqual([
    ['a', 100, 1],
    ['a', 101, 1],
    ['a', 102, 1],
    ['a', 103, 1],
    ['a', 104, 996],
    ['b', 41, 1],
  ]);
});

test('a copy that is broken behind its head is listed without its name and its key', () => {
  expect(duplicatesOf([dropped('a', 41, whole.subarray(0, 40))])).toMatchObject([
    { event_id: 'a', event: null, key_id: null },
  ]);
});
