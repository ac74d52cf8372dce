import { expect, test } from 'vitest';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { VisitsAnswer } from '#pipelines/analytics/visits/question.ts';
import { PAGE_DEFAULTS, type PageRules } from '#schemas/setting.ts';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';
import { pageByHand, WORLD_PAGES, WORLD_PATHS } from './reference/pages.ts';

const create = useQueryWorld();
const TIME = { from: purchaseFunnel.from, to: purchaseFunnel.to, fresh: true };
const ADDRESSES = [
  ...WORLD_PATHS.map((path) => `https://shop.example${path}`),
  ...[
    'https://Shop.example:8443/A/B/?color=blue#!/C/9/',
    'http://10.0.0.1/2024/',
    'https://shop.example/a//b//',
    '/cart/?step=9',
  ],
  ...[
    'https://shop.example/%C3%89t%C3%A9/',
    'https://shop.example/(a|b)+.html/',
    'https://shop.example/x#/../y?z#/q',
    'https://shop.example/x#top?step=1',
    '/',
  ],
];
const RULES = [
  ...WORLD_PAGES.rules,
  '/*',
  '/u/:id',
  '/u/*/edit',
  '/(a|b)+.html',
  '/a/*/b',
  '/*.html/',
  '/app#/:section/*',
];
const ROUNDS = 60;

const anyRules = (random: Random): PageRules => {
  const is = (): boolean => random.chance(0.5);
  return {
    ...{ drop_trailing_slash: is(), lower_case: is(), drop_index_names: is(), shorten_ids: is(), hash_routes: is() },
    parameters: ['step', 'color', 'next[]'].filter(is),
    rules: random.chance(0.3) ? [] : [...new Set(Array.from({ length: random.whole(1, 5) }, () => random.pick(RULES)))],
  };
};

const page = (minute: number, address: string, name = '$current_url') =>
  storedRow('ann', 'page_view', minute, { properties: JSON.stringify({ [name]: address }) });

test('by any rules every address is the page that it is by hand, also of events from before', {
  timeout: 120_000,
}, async () => {
  const world = await create();
  await world.store([ADDRESSES.map((address, minute) => page(minute, address))]);
  for (let round = 0; round < ROUNDS; round++) {
    const rules = round === 0 ? PAGE_DEFAULTS : anyRules(randomFor(`page rules ${round}`));
    await world.setPages(rules);
    const field = { property: ['$current_url'], part: 'page' };
    const { values } = await world.ask<TopAnswer>('top', { ...TIME, field, limit: 1000 });
    const expected = Map.groupBy(ADDRESSES, (address) => pageByHand(address, round === 0 ? null : rules));
    expect(Object.fromEntries(values.map(({ value, events }) => [value, events])), JSON.stringify(rules)).toEqual(
      Object.fromEntries([...expected].map(([value, all]) => [value, all.length])),
    );
  }
});

test('pages, filters, paths, landing and exit pages agree, and no other address is changed', async () => {
  const world = await create();
  await world.setPages({ drop_trailing_slash: true, shorten_ids: true });
  const referrer = 'https://other.example/9/';
  const properties = JSON.stringify({ page_location: 'https://shop.example/item/7/', $referrer: referrer });
  await world.store([
    [
      page(0, 'https://shop.example/about/'),
      storedRow('ann', 'page_view', 1, { properties }),
      page(2, 'https://shop.example/about'),
      page(3, 'https://shop.example/item/8', 'url'),
    ].map((row) => ({ ...row, visit_key: '2' })),
  ]);
  const by = { property: ['$current_url'], part: 'page' };
  const about = { field: by, is: 'equal', to: ['https://shop.example/about'] };
  expect(
    (await world.ask<TopAnswer>('top', { ...TIME, field: { column: 'event' }, filters: [about] })).values[0]?.events,
  ).toBe(2);
  const items = { property: ['page_location'], part: 'page' };
  expect((await world.ask<TopAnswer>('top', { ...TIME, field: items })).values.map(({ value }) => value)).toContain(
    'https://shop.example/item/:id',
  );
  const landed = await world.ask<VisitsAnswer>('visits', { ...TIME, breakdown: { visit: 'landing_page' } });
  const left = await world.ask<VisitsAnswer>('visits', { ...TIME, breakdown: { visit: 'exit_page' } });
  expect([landed, left].map(({ values }) => values.map(({ value }) => value))).toEqual([
    ['https://shop.example/about'],
    ['https://shop.example/item/:id'],
  ]);
  const paths = await world.ask('paths', { ...TIME, by, starting_at: 'https://shop.example/about' });
  expect(paths).toMatchObject({ paths: 1 });
  const sent = { property: ['$referrer'], part: 'page' };
  expect((await world.ask<TopAnswer>('top', { ...TIME, field: sent })).values.map(({ value }) => value)).toContain(
    referrer,
  );
  const raw = await world.ask<TopAnswer>('top', { ...TIME, field: { property: ['$current_url'] } });
  expect(raw.values.map(({ value }) => value)).toContain('https://shop.example/about/');
});

test('what rules would make of the pages of the last day is shown before they are saved', async () => {
  const world = await create();
  const now = world.control.clock.nowMs;
  const at = (hours: number, address: string) => ({
    ...page(hours, address),
    timestamp: now - hours * 3_600_000,
  });
  await world.store([
    [
      at(1, 'https://shop.example/a/'),
      at(2, 'https://shop.example/a'),
      at(3, 'https://shop.example/b?x=1'),
      at(30, 'https://shop.example/c'),
    ],
  ]);
  const preview = async (pages: object) => {
    const { status, body } = await world.control.call('POST', 'sites/shop/pages/preview', { body: { pages } });
    return { status, body };
  };
  expect(await preview({ drop_trailing_slash: true })).toMatchObject({
    status: 200,
    body: {
      ...{ views: 3, pages_before: 3, pages_after: 2 },
      items: [
        {
          ...{ page: 'https://shop.example/a', views: 2, is_changed: true, source_pages: 2 },
          sources: [
            { page: 'https://shop.example/a', views: 1 },
            { page: 'https://shop.example/a/', views: 1 },
          ],
        },
        { page: 'https://shop.example/b', views: 1, is_changed: false, source_pages: 1 },
      ],
    },
  });
  expect(await preview({ parameters: ['x'] })).toMatchObject({
    body: { items: [{ page: 'https://shop.example/b?x=1' }, {}, {}] },
  });
  expect(await preview({ rules: ['blog'] })).toMatchObject({ status: 400 });
});
