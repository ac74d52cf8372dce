import { expect, test } from 'vitest';
import { filterParameters, liveQuestion, readFilters } from '#services/dashboard/src/pages/live/live_events.ts';

const question = (query: string) => liveQuestion(readFilters(new URLSearchParams(query)), 5, 10);

test('without filters every event is asked for', () => {
  expect(question('')).toEqual({ received_after: 5, limit: 10 });
});

test('what the address says is asked for, a value as whatever it may be', () => {
  expect(question('event=purchase&distinct_id=d&property=cart.size&value=2')).toEqual({
    ...{ received_after: 5, limit: 10, events: ['purchase'] },
    filters: [
      { field: { column: 'distinct_id' }, is: 'equal', to: ['d'] },
      { field: { property: ['cart', 'size'] }, is: 'equal', to: ['2', 2] },
    ],
  });
  const ofKey = { field: { column: 'key_id' }, is: 'equal', to: ['9f86d081884c7d65'] };
  expect(question('key=9f86d081884c7d65').filters).toEqual([ofKey]);
  expect(question('property=a&value=true').filters).toMatchObject([{ to: ['true', true] }]);
  expect(question('property=a&value=07').filters).toMatchObject([{ to: ['07'] }]);
});

test('a property without a value must be set, a value without a property says nothing', () => {
  expect(question('property=a').filters).toEqual([{ field: { property: ['a'] }, is: 'set' }]);
  expect(question('value=a&property=.').filters).toBeUndefined();
});

test('filters come back out of the address', () => {
  const filters = { event: 'a b', key: '9f86d081884c7d65', distinctId: 'd&e', property: 'x.y', value: '=1' };
  expect(readFilters(new URLSearchParams(filterParameters(filters) as Record<string, string>))).toEqual(filters);
});
