import { expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import { boughtOf, boughtQuestion, pageText, seenLast } from '#services/dashboard/src/pages/people/people.ts';

const NOW = Date.UTC(2026, 10, 24);

test('of a page its path and its title are said, and nothing where an event names none', () => {
  expect(pageText({ $current_url: 'https://shop.example/cart?step=1', $title: 'Your cart' })).toBe('/cart · Your cart');
  expect(pageText({ page_location: '/cart', page_title: '' })).toBe('/cart');
  expect(pageText({ $current_url: 7, plan: 'pro' })).toBe('');
});

test('what somebody bought is asked of them alone, and amounts are never added over currencies', () => {
  expect(boughtQuestion('p_1', NOW).filters).toEqual([{ field: { column: 'person_id' }, is: 'equal', to: ['p_1'] }]);
  const breakdown = [
    { value: 'EUR', measured: 9.5 },
    { value: '', measured: 0 },
    { value: 'USD', measured: 3 },
  ];
  const answer = { series: [{ events: 4, breakdown }], formulas: [] } as unknown as TrendsAnswer;
  expect(boughtOf(answer)).toEqual({
    purchases: 4,
    amounts: [
      { currency: 'EUR', amount: 9.5 },
      { currency: 'USD', amount: 3 },
    ],
  });
});

test('people stand in the order in which they were there last', () => {
  const event = (person_id: string, timestamp: number) => ({ person_id, timestamp }) as Listing['events'][number];
  const seen = seenLast([event('a', 1), event('b', 5), event('a', 7), event('c', 6)]);
  expect(seen.map(({ personId, last, events }) => [personId, last.timestamp, events])).toEqual([
    ['a', 7, 2],
    ['c', 6, 1],
    ['b', 5, 1],
  ]);
});
