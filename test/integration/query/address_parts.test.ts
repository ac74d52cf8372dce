import { expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const PAGE = 'https://shop.example/cart';
const TIME = { from: purchaseFunnel.from, to: purchaseFunnel.to, fresh: true };
const ADDRESSES = [
  'https://Shop.example/cart?step=1',
  'https://Shop.example/cart#top',
  'https://shop.example:8443/cart',
  'https://shop.example?next=/cart',
  '/cart?step=2',
  'app://home',
  'http://ann:pw@[2001:DB8::1]:80/x',
  'mailto:shop.example',
  '',
];

test('of an address its page and its host are values of their own', async () => {
  const world = await create();
  await world.store([
    ADDRESSES.map((address, minute) =>
      storedRow('ann', 'page_view', minute, { properties: JSON.stringify({ $current_url: address }) }),
    ),
  ]);
  const counts = async (part: string): Promise<Record<string, number>> => {
    const { values } = await world.ask<TopAnswer>('top', { ...TIME, field: { property: ['$current_url'], part } });
    return Object.fromEntries(values.map(({ value, events }) => [value, events]));
  };
  expect(await counts('page')).toEqual({
    'https://Shop.example/cart': 2,
    'https://shop.example:8443/cart': 1,
    'https://shop.example': 1,
    '/cart': 1,
    'app://home': 1,
    'http://ann:pw@[2001:DB8::1]:80/x': 1,
    'mailto:shop.example': 1,
    '': 1,
  });
  expect(await counts('host')).toEqual({ 'shop.example': 4, home: 1, '[2001:db8::1]': 1, '': 3 });
  const field = { property: ['$current_url'], part: 'host' };
  const { series } = await world.ask<TrendsAnswer>('trends', {
    ...{ ...TIME, interval: 'month' },
    series: [{ filters: [{ field, is: 'equal', to: ['shop.example'] }] }, { filters: [{ field, is: 'not_set' }] }],
  });
  expect(series.map(({ events }) => events)).toEqual([4, 3]);
});

test('of one key, the hosts of the pages that its events were sent on', async () => {
  const world = await create();
  const sent = (key_id: string | null, minute: number, page: string) =>
    storedRow('ann', 'page_view', minute, { key_id, properties: JSON.stringify({ $current_url: page }) });
  await world.store([
    [
      ...[sent('aa', 0, PAGE), sent('aa', 1, 'http://127.0.0.1:9/'), sent('aa', 2, PAGE)],
      ...[sent('bb', 3, PAGE), sent(null, 4, PAGE)],
    ],
  ]);
  const filters = [{ field: { column: 'key_id' }, is: 'equal', to: ['aa'] }];
  const field = { property: ['$current_url'], part: 'host' };
  const { values } = await world.ask<TopAnswer>('top', { ...TIME, field, filters });
  expect(values.map(({ value, events }) => [value, events])).toEqual([
    ['shop.example', 2],
    ['127.0.0.1', 1],
  ]);
  const newest = await world.ask<Listing>('live', { received_after: 0, filters });
  expect(newest.events.map(({ event_id }) => event_id)).toEqual([2, 1, 0].map((minute) => `ann-page_view-${minute}`));
});

test('of where a visitor came from, a host is another only where the page of the event has it not', async () => {
  const world = await create();
  const views = [
    { $current_url: PAGE, $referrer: 'https://Search.example/?q=mug' },
    { $current_url: PAGE, $referrer: 'https://SHOP.example:8443/' },
    { page_location: PAGE, $referrer: 'https://shop.example/' },
    { $current_url: 'https://search.example/', $referrer: 'https://shop.example/' },
    { $current_url: PAGE, $referrer: '$direct' },
    { $current_url: PAGE },
    { $referrer: 'https://search.example/' },
  ];
  await world.store([
    views.map((properties, minute) =>
      storedRow('ann', 'page_view', minute, { properties: JSON.stringify(properties) }),
    ),
  ]);
  const field = { property: ['$referrer'], part: 'other_host' };
  const { values } = await world.ask<TopAnswer>('top', { ...TIME, field });
  expect(values.map(({ value, events }) => [value, events])).toEqual([
    ['', 4],
    ['search.example', 2],
    ['shop.example', 1],
  ]);
});
