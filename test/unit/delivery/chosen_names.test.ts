import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { eventNamesField, mappedEventName } from '#pipelines/delivery/setting_fields.ts';

const settings = { event_names: 'Quiz done=Lead, purchase=ShopOrder\nview_item = Look' };

describe("a site's own event names", () => {
  it.each([
    [['quiz_done'], 'Lead'],
    [['QUIZ DONE'], 'Lead'],
    [['Order Completed', null, 'purchase'], 'ShopOrder'],
    [['view_item'], 'Look'],
    [['add_to_cart', 'add_to_cart'], null],
    [[null], null],
  ])('%j: %s', (names, expected) => expect(mappedEventName(settings, names)).toBe(expected));

  it('go from the most particular name to the least', () => {
    expect(mappedEventName({ event_names: 'a=A,b=B' }, ['b', 'a'])).toBe('B');
  });

  it('are none without the setting', () => {
    expect(mappedEventName({}, ['purchase'])).toBeNull();
    expect(mappedEventName(undefined, ['purchase'])).toBeNull();
  });
});

const validator = Compile(Type.Object({ names: eventNamesField('Names', '') }));
it.each([
  ['a=b', true],
  ['a=b,c=d', true],
  ['a=b\nc=d', true],
  ['a', false],
  ['a=', false],
  ['a=b,', false],
  ['=b', false],
])('the setting takes %j: %s', (names, expected) => expect(validator.Check({ names })).toBe(expected));
