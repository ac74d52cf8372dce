import { expect, test } from 'vitest';
import { createPageRoom } from '#infra/redelivery/dead_letter_store.ts';

test('a page holds letters up to the one that fills it, and says which that was', () => {
  const room = createPageRoom(100);
  expect([room.take(4, 60), room.fullAt]).toEqual([true, null]);
  expect([room.take(5, 60), room.fullAt]).toEqual([true, 5]);
  expect([room.take(6, 1), room.fullAt]).toEqual([false, 5]);
});

test('a letter that is longer than a page may be is a page of its own', () => {
  const room = createPageRoom(100);
  expect([room.take(7, 500), room.fullAt]).toEqual([true, 7]);
});
