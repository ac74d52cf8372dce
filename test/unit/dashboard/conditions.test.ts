import { expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import {
  conditionText,
  fieldLabel,
  fieldNamed,
  fieldNotes,
  filtersIn,
  finished,
  otherProperties,
  propertyFields,
  propertyNames,
} from '#services/dashboard/src/questions/conditions.ts';

const plan = { property: ['plan'] };

test('what nobody has finished is not asked', () => {
  expect(
    finished({
      steps: [{ events: ['a', ''] }, { events: [''] }],
      filters: [
        { field: plan, is: 'equal', to: [] },
        { field: { property: [] }, is: 'set' },
        { field: plan, is: 'above' },
        { field: plan, is: 'containing', to: '' },
        { field: plan, is: 'not_set' },
        { field: plan, is: 'at_least', to: 0 },
      ],
    }),
  ).toEqual({
    steps: [{ events: ['a'] }, {}],
    filters: [
      { field: plan, is: 'not_set' },
      { field: plan, is: 'at_least', to: 0 },
    ],
  });
});

test('a typed property is a path, and every kind of field has a name', () => {
  expect(fieldNamed('cart.size')).toEqual({ property: ['cart', 'size'] });
  expect(fieldNamed('{"column":"country"}')).toEqual({ column: 'country' });
  expect(fieldNamed('{"')).toEqual({ property: ['{"'] });
  expect(fieldNamed('{"size":1}')).toEqual({ property: ['{"size":1}'] });
  expect(fieldLabel({ person: plan, seen: 'last' })).toBe("plan, the person's last");
  expect(fieldLabel({ property: ['items'], each: ['sku'] })).toBe('items[].sku');
  expect(fieldLabel({ property: ['$referrer'], part: 'host' })).toBe('$referrer, the host');
});

test('filters out of an address are conditions and groups of them, and nothing else', () => {
  const group = {
    any: [
      { field: plan, is: 'equal', to: ['pro', 'max'] },
      { field: { column: 'value' }, is: 'above', to: 5 },
    ],
  };
  expect(filtersIn([group, { field: 7, is: 'equal' }, { field: plan, is: 'nonsense' }, 'x', null])).toEqual([group]);
  expect(conditionText(filtersIn([group])[0] ?? { all: [] })).toBe('(plan is pro or max or Value is above 5)');
});

test('properties are offered by how many events have them, one level deep, and the usual ones after them', () => {
  const names = propertyNames([
    { a: 1, cart: { size: 2 } },
    { a: 1, items: [{ sku: 1 }] },
    { utm_source: 'x', a: 2 },
  ]);
  expect(names.slice(0, 4)).toEqual([['a'], ['cart', 'size'], ['items'], ['utm_source']]);
  expect(names.filter(([name]) => name === 'utm_source')).toHaveLength(1);
});

test('a property that a column is read from is offered as the column, where that may be named', () => {
  const properties = [['value'], ['order_id'], ['plan'], ['cart', 'value']];
  const value = { column: 'value' } as const;
  const order = { column: 'order_id' } as const;
  expect(otherProperties(properties, [value])).toEqual([['order_id'], ['plan'], ['cart', 'value']]);
  expect(otherProperties(properties, [value, order])).toEqual([['plan'], ['cart', 'value']]);
});

test('fields have examples of their values, and columns say which property they are', () => {
  const event = (value: number | null, plan: unknown): Listing['events'][number] => ({
    ...{ event_id: 'e', event: 'purchase', timestamp: 1, received_at: 1, distinct_id: 'd', person_id: 'p' },
    ...{ action_source: 'website', mode: 'online', country: '', value, currency: 'EUR', order_id: '' },
    properties: { plan, cart: { size: 2 } },
  });
  const plans = ['pro', 'pro', 'free', '', 'a'.repeat(99), 'max'];
  const noteOf = fieldNotes(plans.map((plan, at) => event(at === 0 ? null : 5, plan)));
  expect(noteOf({ property: ['plan'] })).toBe(`such as pro, free, ${'a'.repeat(24)}`);
  expect(noteOf({ property: ['cart', 'size'] })).toBe('such as 2');
  expect(noteOf({ column: 'value' })).toBe('the property value; such as 5');
  expect(noteOf({ column: 'country' })).toBeUndefined();
});

test('behind an address stands the part of it that people mean', () => {
  expect(propertyFields([['plan'], ['$current_url'], ['$referrer', 'inner']])).toEqual([
    { property: ['plan'] },
    { property: ['$current_url'] },
    { property: ['$current_url'], part: 'page' },
    { property: ['$referrer', 'inner'] },
  ]);
  expect(propertyFields([['url'], ['referrer']])).toEqual([
    { property: ['url'] },
    { property: ['url'], part: 'page' },
    { property: ['referrer'] },
    { property: ['referrer'], part: 'host' },
  ]);
});
