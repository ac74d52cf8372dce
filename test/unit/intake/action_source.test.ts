import { expect, test } from 'vitest';
import { browser, refusal, server, take } from './context.ts';

const sourceOf = (properties: object, context = server()): string =>
  take({ event: 'Seen', properties }, context).action_source;

test.each([
  '@segment/analytics-node',
  'analytics-node',
  'analytics-python',
  'analytics-java',
  '@rudderstack/rudder-sdk-node',
  'rudder-analytics-python',
  'posthog-node',
  'posthog-python',
])('an event of %s without an address is no website’s', ($lib) => {
  expect(sourceOf({ $lib })).toBe('system_generated');
  expect(sourceOf({ $lib, $action_source: 'website' })).toBe('website');
  expect(sourceOf({ $lib, client_ip_address: '' })).toBe('system_generated');
});

test('a place that is no address of a page makes no website', () => {
  expect(sourceOf({ $lib: 'posthog-node', location: 'Berlin', page: { name: 'Till' } })).toBe('system_generated');
});

test('a library that says it runs on a server is one', () => {
  expect(sourceOf({ $lib: 'own', $is_server: true })).toBe('system_generated');
  expect(sourceOf({ $lib: 'own', $is_server: false })).toBe('website');
});

test.each([
  { url: 'https://shop.example/' },
  { $current_url: 'https://shop.example/' },
  { event_source_url: 'https://shop.example/' },
  { $url: 'https://shop.example/' },
  { location: 'https://shop.example/' },
  { page: { url: 'https://shop.example/' } },
  { context: { page: { url: 'https://shop.example/' } } },
  { client_ip_address: '203.0.113.50' },
  { $ip: '203.0.113.50' },
  { client_user_agent: 'Mozilla/5.0 (X11) Firefox/150.0' },
])('one that has the address %j may be', (address) => {
  expect(sourceOf({ $lib: 'posthog-node', ...address })).toBe('website');
});

test('who does not name a server library, or calls with a browser’s key, is on a website', () => {
  expect(sourceOf({})).toBe('website');
  expect(sourceOf({ $lib: 'web' })).toBe('website');
  expect(sourceOf({ $lib: 'analytics.js' })).toBe('website');
  expect(sourceOf({ $lib: 'posthog-node' }, browser())).toBe('website');
});

test('only a source that was named says that somebody is known by name', () => {
  const identifies = (properties: object): boolean => take({ event: 'Seen', properties }, server()).identify;
  expect(identifies({ $lib: 'posthog-node' })).toBe(false);
  expect(identifies({ $lib: 'posthog-node', $action_source: 'system_generated' })).toBe(true);
});

test('none of the six is refused, whoever sends it', () => {
  expect(refusal({ event: 'Seen', properties: { $lib: 'posthog-node', $action_source: 'app' } }, server())).toBe(
    'action_source_unknown',
  );
});
