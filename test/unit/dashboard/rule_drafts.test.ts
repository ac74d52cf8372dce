import { expect, test } from 'vitest';
import { namesIn, ruleDrafts, rulesOf, typedNames } from '#services/dashboard/src/pages/destinations/rule_drafts.ts';

test.each<[string, string[]]>([
  ['', []],
  ['  ', []],
  ['purchase, checkout_*,purchase', ['purchase', 'checkout_*']],
  ['lead,', ['lead']],
  ['Viewed\\, twice, b', ['Viewed, twice', 'b']],
  ['a\\b', ['a\\b']],
  [' , ,', ['']],
])('%j is read as %j', (text, names) => {
  expect(namesIn(text)).toEqual(names);
});

test('names that hold commas and backslashes are kept by a form that is saved as it was opened', () => {
  const names = ['Viewed, twice', 'a\\', 'b\\,c', 'plain'];
  expect(namesIn(typedNames(names))).toEqual(names);
  const rules = [{ events: names, send: true, rename_to: null, drop_properties: names }];
  expect(rulesOf(ruleDrafts(rules))).toEqual(rules);
});
