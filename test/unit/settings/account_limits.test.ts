import { expect, test } from 'vitest';
import { hasRoom, inAllMax, type Owner, ownersOf } from '#pipelines/settings/access.ts';

const SITES = new Map([
  ['shop', 'acme'],
  ['till', 'acme'],
  ['other', 'rival'],
]);
const table = {
  site: (id: string) => {
    const account_id = SITES.get(id);
    return account_id === undefined ? undefined : { account_id };
  },
};
const many = (owner: Owner, count: number): Owner[][] => Array.from({ length: count }, () => [owner]);

test('what is in places belongs to their accounts, each once, and to the installation where it is of none', () => {
  expect(ownersOf([{ site: 'shop' }, { account: 'acme' }, { site: 'till' }, { site: 'other' }], table)).toEqual([
    'acme',
    'rival',
  ]);
  expect(ownersOf(['installation'], table)).toEqual([null]);
  expect(ownersOf([{ site: 'gone' }], table)).toEqual([]);
});

test('an account that is full leaves room to the others', () => {
  const held = many('acme', 100);
  expect(hasRoom(held, ['acme'], 100)).toBe(false);
  expect(hasRoom(held, ['rival'], 100)).toBe(true);
  expect(hasRoom(held, [null], 100)).toBe(true);
  expect(hasRoom(held, ['rival', 'acme'], 100)).toBe(false);
  expect(hasRoom(many(null, 100), [null], 100)).toBe(false);
});

test('all together have ten times as many, whosever they are', () => {
  const held = Array.from({ length: 10 }, (_, at) => many(`a${at}`, 100)).flat();
  expect(held).toHaveLength(inAllMax(100));
  expect(hasRoom(held, ['another'], 100)).toBe(false);
  expect(hasRoom(held.slice(1), ['another'], 100)).toBe(true);
  expect(hasRoom(held, [], 100)).toBe(false);
});
