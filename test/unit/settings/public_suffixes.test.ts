import { expect, test } from 'vitest';
import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';

test.each([
  ['shop.example', 'shop.example'],
  ['t.eu.shop.example', 'shop.example'],
  ['t.shop.co.uk', 'shop.co.uk'],
  ['www.acme.myshopify.com', 'acme.myshopify.com'],
  ['co.uk', null],
  ['myshopify.com', null],
  ['a.b.run.app', null],
])('%s was registered as %s', (host, domain) => {
  expect(registrableDomain(host)).toBe(domain);
});
