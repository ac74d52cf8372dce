import { expect, test } from 'vitest';
import { createErasedEvents } from '#services/warehouse/erased_events.ts';

const coordinate = { partition: 1, offset: 2, index: 3 };

test('what other tables say of an event whose person was erased is known by its id and its place, and nothing else is', () => {
  const erased = createErasedEvents();
  const outcome = { event_id: 'a', coordinate_partition: 1, coordinate_offset: 2, coordinate_index: 3 };
  const duplicate = { event_id: 'a', first_partition: 1, first_offset: 2, first_index: 3, raw_offset: 9 };
  expect([outcome, duplicate].map(erased.isAbout)).toEqual([false, false]);
  erased.note({ eventId: 'a', coordinate });
  erased.note({ eventId: 'unplaced', coordinate: null });
  expect([outcome, duplicate].map(erased.isAbout)).toEqual([true, true]);
  const others = [
    { ...outcome, event_id: 'b' },
    { ...outcome, coordinate_index: 4 },
    { ...duplicate, first_offset: 9 },
    { event_id: 'a', raw_partition: 1, raw_offset: 2, raw_index: 3 },
    { event_id: 'unplaced' },
    { site_id: 'a', person_id: 'a' },
  ];
  expect(others.filter(erased.isAbout)).toEqual([]);
});
