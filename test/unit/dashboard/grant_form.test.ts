import { expect, test } from 'vitest';
import {
  grantAt,
  grantsAt,
  grantText,
  isGivable,
  placeOptions,
  placeValue,
  roleOptions,
} from '#services/dashboard/src/pages/members/grants.ts';

const SITES = [
  { site_id: 'shop', account_id: 'acme' },
  { site_id: 'blog', account_id: 'acme' },
  { site_id: 'other', account_id: 'elsewhere' },
];
const valuesOf = (options: readonly { value: string }[]): string[] => options.map(({ value }) => value);

test.for(['', 'account/acme', 'site/shop'])('the place %j comes out of its field as it went in', (place) => {
  expect(placeValue(grantAt('viewer', place))).toBe(place);
});

test('a grant says in words what it is for', () => {
  expect(['', 'account/acme', 'site/shop'].map((place) => grantText(grantAt('admin', place)))).toEqual([
    'admin of the installation',
    'admin of account acme',
    'admin of site shop',
  ]);
});

test('an owner of the installation may give every role everywhere', () => {
  const owner = [grantAt('owner', '')];
  expect(valuesOf(placeOptions(owner, 'users.manage', SITES))).toEqual([
    '',
    ...['account/acme', 'account/elsewhere', 'site/shop', 'site/blog', 'site/other'],
  ]);
  expect(valuesOf(roleOptions(owner, '', 'users.manage', SITES))).toEqual([
    ...['viewer', 'operator', 'analyst', 'admin', 'owner'],
  ]);
});

test('an admin of an account gives roles in it and in its sites, and no ownership', () => {
  const admin = [grantAt('admin', 'account/acme')];
  expect(valuesOf(placeOptions(admin, 'users.manage', SITES))).toEqual(['account/acme', 'site/shop', 'site/blog']);
  expect(valuesOf(roleOptions(admin, 'site/shop', 'users.manage', SITES))).not.toContain('owner');
  expect(isGivable(admin, grantAt('viewer', 'site/other'), 'users.manage', SITES)).toBe(false);
});

test('an admin of the installation gives no tokens for all of it, and a viewer gives nothing', () => {
  expect(valuesOf(placeOptions([grantAt('admin', '')], 'tokens.manage', SITES))).not.toContain('');
  expect(placeOptions([grantAt('viewer', '')], 'users.manage', SITES)).toEqual([]);
});

test('who may something at a site are those of the site, of its account and of everything', () => {
  const grants = ['', 'account/acme', 'site/shop', 'site/blog', 'account/elsewhere'].map((at) => grantAt('viewer', at));
  const seen = (place: string): string[] => grantsAt(grants, place, SITES).map(placeValue);
  expect(seen('site/shop')).toEqual(['', 'account/acme', 'site/shop']);
  expect(seen('account/acme')).toEqual(['', 'account/acme']);
  expect(seen('')).toEqual(['']);
});
