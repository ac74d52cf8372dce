import { expect, test } from 'vitest';
import { ITEM_ALIASES, withoutLegacyNames } from '#pipelines/intake/ga4/items.ts';

const PAIRS = Object.entries(ITEM_ALIASES).flatMap(([name, aliases]) => aliases.map((alias) => [alias, name] as const));

test.for(PAIRS)('%s of an item comes as %s', ([alias, name]) => {
  expect(withoutLegacyNames({ [alias]: 4 })).toEqual({ [name]: 4 });
  expect(withoutLegacyNames({ [alias]: 4, [name]: 5 })).toEqual({ [name]: 5 });
});

test('the two that were each known one way alone are among them', () => {
  expect(PAIRS).toEqual(
    expect.arrayContaining([
      ['creative', 'creative_name'],
      ['list_id', 'item_list_id'],
    ]),
  );
});
