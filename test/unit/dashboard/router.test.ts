import { expect, test, vi } from 'vitest';

vi.stubGlobal('location', { pathname: '/dashboard/sites/a', search: '?period=7d', origin: 'http://h' });
// The tests of another file may have loaded it at another address.
vi.resetModules();
const { addressOf, matchPath, currentLocation } = await import('#services/dashboard/src/router.ts');

test('a place is what comes after the path of the dashboard', () => {
  expect([currentLocation.value.path, currentLocation.value.query.get('period')]).toEqual(['/sites/a', '7d']);
});

test.for([
  ['/sites/:site/live', '/sites/shop/live', { site: 'shop' }],
  ['/sites/:site/live', '/sites/shop/live/', { site: 'shop' }],
  ['/sites/:site/events/:event', '/sites/shop/events/a%2Fb', { site: 'shop', event: 'a/b' }],
  ['/sites/:site/events/:event', '/sites/shop/events/%', { site: 'shop', event: '%' }],
  ['/sites/:site/live', '/sites//live', null],
  ['/sites/:site/live', '/sites/shop/overview', null],
  ['/sites/:site', '/sites/shop/live', null],
  ['/', '/', {}],
] as const)('%s and %s', ([pattern, path, params]) => {
  expect(matchPath(pattern, path)).toEqual(params);
});

test('an address has its query only where there is one', () => {
  expect(addressOf('/operations')).toBe('/dashboard/operations');
  expect(addressOf('/operations', new URLSearchParams({ a: 'b c' }))).toBe('/dashboard/operations?a=b+c');
});
