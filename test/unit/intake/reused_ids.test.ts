import { expect, test } from 'vitest';
import { createIdMemory } from '#pipelines/intake/event_id.ts';
import { take } from './context.ts';

const named = (event: string, uuid: string) => take({ event, uuid });
const UUID = '0e9c4f2a-63f3-4b7a-9c4c-9c2a6c1d1b11';

test('an id is of the first name that had it, in its request and after', () => {
  const reusedIn = createIdMemory();
  expect(reusedIn([named('a', '7'), named('b', '7'), named('a', '7')])).toEqual([{ at: 1, before: 'a' }]);
  expect(reusedIn([named('c', '7')])).toEqual([{ at: 0, before: 'a' }]);
  expect(reusedIn([{ ...named('c', '7'), site_id: 'other' }])).toEqual([]);
});

test('of UUIDs only those of a request are compared, and of others the last', () => {
  const reusedIn = createIdMemory(2);
  expect(reusedIn([named('a', UUID), named('b', UUID.toUpperCase())])).toEqual([{ at: 1, before: 'a' }]);
  expect(reusedIn([named('c', UUID)])).toEqual([]);
  expect(reusedIn([named('a', '1'), named('a', '2'), named('a', '3')])).toEqual([]);
  expect(reusedIn([named('b', '1'), named('b', '3')])).toEqual([{ at: 1, before: 'a' }]);
});
