import { expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { RevenueAnswer } from '#pipelines/analytics/revenue/answer.ts';
import { boughtOf, boughtQuestion, pageText, seenLast } from '#services/dashboard/src/pages/people/people.ts';

const NOW = Date.UTC(2026, 10, 24);

test('of a page its path and its title are said, and nothing where an event names none', () => {
  expect(pageText({ $current_url: 'https://shop.example/cart?step=1', $title: 'Your cart' })).toBe('/cart · Your cart');
  expect(pageText({ page_location: '/cart', page_title: '' })).toBe('/cart');
  expect(pageText({ $current_url: 7, plan: 'pro' })).toBe('');
});

test('what somebody bought is asked of them alone, and amounts are never added over currencies', () => {
  const asked = boughtQuestion('p_1', NOW - 5, NOW);
  expect(asked.filters).toEqual([{ field: { column: 'person_id' }, is: 'equal', to: ['p_1'] }]);
  expect([asked.from, asked.to]).toEqual([NOW - 86_400_000, NOW]);
  const of = (currency: string, orders: number, gross: number, net: number) => ({
    ...{ currency, orders, gross, net },
    renewals: { orders: 1, gross: currency === 'EUR' ? 2 : 0, net: currency === 'EUR' ? 1 : 0 },
  });
  const currencies = [of('EUR', 2, 10, 8.5), of('', 1, 0, 0), of('USD', 1, 3, 0)];
  expect(boughtOf({ currencies } as unknown as RevenueAnswer)).toEqual({
    purchases: 7,
    amounts: [
      { currency: 'EUR', amount: 9.5 },
      { currency: 'USD', amount: 0 },
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
