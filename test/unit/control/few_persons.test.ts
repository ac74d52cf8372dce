import { beforeAll, expect, it } from 'vitest';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const answerOf = (text: string, persons: number) => ({
  ...{ section: 'answer', name: 'why', text, times: persons, persons, all_times: 9, texts: 2, numbers: 0, total: 0 },
});

let world: ScopedWorld;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  world = await scopedWorld([answerOf('It is cheap', 5), answerOf('I am Jane Doe of High Street', 1)]);
  for (const role of ['analyst', 'operator', 'viewer']) {
    tokens[role] = await world.tokenOf(grantOf(role, { site_id: 'shop' }));
  }
});

const as = async (role: string, method: 'GET' | 'POST', path: string, body?: object) =>
  (await world.call(method, path, { token: tokens[role] ?? null, ...(body === undefined ? {} : { body }) })).body;

it.each([
  ['analyst', ['It is cheap', 'I am Jane Doe of High Street']],
  ['viewer', ['It is cheap']],
])('%s reads the answers to a survey that many gave, or any', async (role, texts) => {
  const { questions } = await as(role, 'POST', '/v1/query/shop/survey', { from: 1, to: 2, id: 'nps' });
  expect(questions[0].values.map(({ value }: { value: string }) => value)).toEqual(texts);
  expect(questions[0].more_values).toBe(role === 'viewer');
});

it('pages that one visitor alone may have seen are shown to who may see single events', async () => {
  const pages: [page: string, lastMs: number][] = [
    ['shop.example/orders/84712', 3],
    ['shop.example/orders/84713', 5],
    ['shop.example/sale', 4],
  ];
  world.tags.set('shop', { lastMs: 5, hours: new Map(), pages, reported: new Map(), fired: new Map() });
  const seenBy = async (role: string) => (await as(role, 'GET', '/v1/admin/sites/shop/tag-health')).pages;
  expect(await seenBy('operator')).toEqual(pages.map(([page, last_event_at]) => ({ page, last_event_at })));
  expect(await seenBy('viewer')).toEqual([
    { page: 'shop.example/orders/:id', last_event_at: 5 },
    { page: 'shop.example/sale', last_event_at: 4 },
  ]);
});

it('whom a site blocks is shown to who changes that', async () => {
  const rules = [
    { kind: 'ip', value: '192.0.2.44', property: null },
    { kind: 'distinct_id', value: 'jane', property: null },
    { kind: 'country', value: 'XX', property: null },
  ];
  const changed = await world.call('PATCH', '/v1/admin/sites/shop', { body: { block_rules: rules }, ifMatch: '*' });
  expect(changed.status).toBe(200);
  const seenBy = async (role: string): Promise<string[]> => {
    const one = await as(role, 'GET', '/v1/admin/sites/shop');
    const { items } = await as(role, 'GET', '/v1/admin/sites');
    expect(items[0].block_rules).toEqual(one.block_rules);
    return one.block_rules.map(({ value }: { value: string }) => value);
  };
  expect(await seenBy('operator')).toEqual(['192.0.2.44', 'jane', 'XX']);
  expect(await seenBy('viewer')).toEqual(['(hidden)', '(hidden)', 'XX']);
});
