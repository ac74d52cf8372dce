import { type EntryChanges, entryOf } from '#test/unit/delivery/entries.ts';
import type { MappingCase } from '../subject.ts';

const PAGE = { $current_url: 'https://shop.example/thanks' };
const custom = (data: object, ...without: string[]): MappingCase['expected'] => ({
  form: { data: [{ custom_data: data }] },
  without: without.map((key) => `data[0].custom_data.${key}`),
});
const one = (title: string, changes: EntryChanges, expected: MappingCase['expected']): MappingCase => ({
  title: `custom: ${title}`,
  entry: entryOf(changes),
  expected,
});

const ITEMS = [
  { item_id: 'SKU-1', item_name: 'Shirt', price: 19.5, quantity: 2 },
  { item_id: 'SKU-2', price: '5.25' },
];

export const itemCases: readonly MappingCase[] = [
  one(
    'value, currency and order',
    { value: 12.5, currency: 'EUR', order_id: 'o-1' },
    custom({ value: 12.5, currency: 'EUR', order_id: 'o-1' }),
  ),
  one('currency in upper case', { currency: 'usd' }, custom({ currency: 'USD' })),
  one('a value of zero is a value', { value: 0 }, custom({ value: 0 })),
  one('a purchase without value', { value: null }, { skip: 'missing_value' }),
  one('a purchase without currency', { currency: null }, { skip: 'missing_currency' }),
  one('a purchase with a currency that is none', { currency: 'euros' }, { skip: 'missing_currency' }),
  one(
    'other events need no value',
    { event: 'view_item', value: null, currency: null, order_id: null },
    {
      form: { data: [{ event_name: 'ViewContent' }] },
      without: ['data[0].custom_data'],
    },
  ),
  one(
    'GA4 items',
    { properties: { ...PAGE, items: ITEMS } },
    custom({
      contents: [
        { id: 'SKU-1', quantity: 2, item_price: 19.5 },
        { id: 'SKU-2', quantity: 1, item_price: 5.25 },
      ],
      content_ids: ['SKU-1', 'SKU-2'],
      content_type: 'product',
      num_items: 3,
    }),
  ),
  one(
    'Segment products',
    { properties: { ...PAGE, products: [{ product_id: 'p1', quantity: 1, price: 3 }] } },
    custom({
      contents: [{ id: 'p1', quantity: 1, item_price: 3 }],
      content_ids: ['p1'],
    }),
  ),
  one(
    "Meta's own contents and type",
    {
      properties: { ...PAGE, contents: [{ id: 'g1', quantity: 4 }], content_type: 'product_group', num_items: 9 },
    },
    custom({ contents: [{ id: 'g1', quantity: 4 }], content_type: 'product_group', num_items: 9 }),
  ),
  one(
    'ids alone',
    { properties: { ...PAGE, content_ids: ['a', 7, null] } },
    custom({ content_ids: ['a', '7'], content_type: 'product' }, 'contents', 'num_items'),
  ),
  one(
    'items without an id are left out',
    { properties: { ...PAGE, items: [{ item_name: 'x' }, null, 'y'] } },
    custom({}, 'contents', 'content_ids', 'num_items'),
  ),
  one(
    'way of delivery',
    {
      properties: { ...PAGE, items: [{ item_id: 's' }], delivery_category: 'curbside' },
    },
    custom({ delivery_category: 'curbside', contents: [{ id: 's', delivery_category: 'curbside' }] }),
  ),
  one(
    'a way of delivery that Meta does not know',
    { properties: { ...PAGE, delivery_category: 'drone' } },
    custom({}, 'delivery_category'),
  ),
  one(
    'search',
    { event: 'search', properties: { ...PAGE, search_term: 'red shoes' } },
    custom({ search_string: 'red shoes' }),
  ),
  one(
    'the rest that Meta documents',
    {
      properties: {
        ...PAGE,
        content_name: 'Name',
        content_category: 'Shoes',
        predicted_ltv: 99.5,
        net_revenue: '12.5',
        status: 'registered',
      },
    },
    custom({
      content_name: 'Name',
      content_category: 'Shoes',
      predicted_ltv: 99.5,
      net_revenue: 12.5,
      status: 'registered',
    }),
  ),
  one(
    'nothing else of the properties',
    { properties: { ...PAGE, note: 'private', nested: { a: 1 } } },
    custom({}, 'note', 'nested'),
  ),
  one('no currency that is none', { event: 'view_item', currency: 'XYZ' }, custom({}, 'currency')),
  one('no currency that is no more', { event: 'view_item', currency: 'DEM' }, custom({}, 'currency')),
];
