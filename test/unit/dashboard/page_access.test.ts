import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { ROLE_PERMISSIONS, type Role } from '#pipelines/settings/access.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import type { Who } from '#services/control_api/users.ts';
import { canView, findPage, PAGES, pageAccess } from '#services/dashboard/src/page_list.ts';
import { session } from '#services/dashboard/src/session.ts';
import { sites, sitesFailure } from '#services/dashboard/src/site_list.ts';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

interface Place {
  account_id: string | null;
  site_id: string | null;
}
const AT_SHOP: Place = { account_id: null, site_id: 'shop' };
const AT_ACME: Place = { account_id: 'acme', site_id: null };
const EVERYWHERE: Place = { account_id: null, site_id: null };

function signIn(role: Role, place: Place): void {
  const grants = [{ role, ...place, permissions: [...ROLE_PERMISSIONS[role]] }];
  session.value = { state: 'signed_in', who: { id: 'ada', grants } as unknown as Who };
}

const opens = (path: string): string | null => {
  const found = findPage(path);
  return found === null ? null : pageAccess(found);
};

beforeEach(() => {
  const known = { shop: 'acme', blog: 'acme', other: 'else' };
  sites.value = Object.entries(known).map(([site_id, account_id]) => ({ site_id, account_id }) as SiteItem);
  sitesFailure.value = null;
});

// Modules are shared with the tests of other files.
afterAll(() => {
  session.value = { state: 'unknown' };
  sites.value = null;
});

test('a page of a site opens by what the person may do at that site', () => {
  signIn('viewer', AT_SHOP);
  expect(opens('/sites/shop/overview')).toBe('open');
  expect(opens('/sites/blog/overview')).toBe('refused');
  expect(opens('/sites/shop/live')).toBe('refused');
  expect(opens('/sites/shop/keys')).toBe('refused');
});

test('an account has its own sites, and no others', () => {
  signIn('operator', AT_ACME);
  expect(opens('/sites/blog/keys')).toBe('open');
  expect(opens('/sites/other/keys')).toBe('refused');
});

test('pages of no site open by any place, by a whole account or by the whole installation', () => {
  signIn('operator', AT_SHOP);
  expect(opens('/dead-letters')).toBe('open');
  expect(opens('/operations')).toBe('refused');
  signIn('admin', AT_SHOP);
  expect(opens('/new-site')).toBe('refused');
  signIn('admin', AT_ACME);
  expect(opens('/new-site')).toBe('open');
  expect(opens('/operations')).toBe('refused');
  signIn('operator', EVERYWHERE);
  expect(opens('/operations')).toBe('open');
});

test('whose site it is may not be known yet, or not at all, in which case the service says it', () => {
  signIn('operator', AT_ACME);
  sites.value = null;
  expect(opens('/sites/blog/keys')).toBe('unknown');
  expect(opens('/operations')).toBe('refused');
  sitesFailure.value = { status: 503, code: 'settings_unavailable', message: '', problems: [] };
  expect(opens('/sites/blog/keys')).toBe('open');
  expect(opens('/operations')).toBe('refused');
});

test('an owner of the installation sees every page, and whoever may nothing sees those that ask nothing', () => {
  const seen = (): string[] => PAGES.filter((page) => canView(page, 'shop')).map(({ path }) => path);
  signIn('owner', EVERYWHERE);
  expect(seen()).toEqual(PAGES.map(({ path }) => path));
  session.value = { state: 'signed_out' };
  expect(seen()).toEqual(PAGES.filter(({ permission }) => permission === null).map(({ path }) => path));
});
