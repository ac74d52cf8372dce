import { expect, test } from 'vitest';
import {
  BASE_DICTIONARY,
  type DictionaryFigures,
  isBaseDue,
  RECENT_DICTIONARY,
} from '#infra/clickhouse/person_dictionaries.ts';

const of = (name: DictionaryFigures['name'], rows: number, changes: Partial<DictionaryFigures> = {}) => ({
  ...{ name, rows, bytes: 0, ageSeconds: 3_600, isLoading: false },
  ...changes,
});

test.for([
  ['few recent ones beside none', 0, 50_000, {}, false],
  ['many beside none', 0, 50_001, {}, true],
  ['many beside few', 1_000_000, 50_001, {}, true],
  ['fewer than the root of many says', 50_000_000, 106_000, {}, false],
  ['more than the root of many says', 50_000_000, 107_000, {}, true],
  ['while it is loading', 0, 1_000_000, { isLoading: true }, false],
  ['soon after it was loaded', 0, 1_000_000, { ageSeconds: 599 }, false],
] as const)('the base is loaded again when that pays: %s', ([, base, recent, changes, due]) => {
  expect(isBaseDue([of(RECENT_DICTIONARY, recent), of(BASE_DICTIONARY, base, changes)])).toBe(due);
});

test('what is not there is not loaded again', () => {
  expect(isBaseDue([])).toBe(false);
  expect(isBaseDue([of(RECENT_DICTIONARY, 1_000_000)])).toBe(false);
});
