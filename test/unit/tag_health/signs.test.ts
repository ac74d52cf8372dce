import { expect, test } from 'vitest';
import { signsOf } from '#pipelines/tag/tag_health.ts';

const of = (properties: object, event = 'page_view') => signsOf(event, JSON.stringify(properties));

test.each([
  ['https://shop.example/cart?id=1#top', 'shop.example/cart'],
  ['https://shop.example:8443/', 'shop.example:8443/'],
  ['https://shop.example/a"b', 'shop.example/a%22b'],
  [`https://shop.example/${'a'.repeat(500)}`, `shop.example/${'a'.repeat(187)}`],
  ['javascript:alert(1)', null],
  ['/cart', null],
  ['', null],
  [7, null],
  [undefined, null],
])('%j is the page %j', ($current_url, page) => {
  expect(of({ plan: 'pro', $current_url }).page).toBe(page);
});

test('each event is of its own page, whatever the one before was of', () => {
  const pages = [
    'https://a.example/',
    'https://b.example/',
    'https://b.example/',
    'javascript:1',
    'https://b.example/',
  ];
  const found = pages.map(($current_url) => of({ $current_url }).page);
  expect(found).toEqual(['a.example/', 'b.example/', 'b.example/', null, 'b.example/']);
});

test('what somebody wrote into a text is no page and no definition', () => {
  const text = '"$current_url":"https://evil.example/" "$definition_id":"evil"';
  expect(of({ text })).toEqual({ page: null, definition: null, reported: null });
});

test('the definition that fired is named', () => {
  expect(of({ value: 1, $definition_id: 'add "big" cart' }).definition).toBe('add "big" cart');
});

test('only the report of a tag has counters, and only counts count', () => {
  const counters = { retried: 3, dropped: 1.5, rejected: -1, blocked: 'many', other: 9 };
  expect(of(counters).reported).toBeNull();
  expect(of(counters, '$tag_health').reported).toEqual({ retried: 3, dropped: 0, rejected: 0, blocked: 0 });
  expect(of({ dropped: 1e15 }, '$tag_health').reported).toMatchObject({ dropped: 1_000_000 });
});
