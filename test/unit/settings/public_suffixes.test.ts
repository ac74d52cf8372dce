import { expect, test } from 'vitest';
import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';
import { checkAll } from '#test/harness/check_all.ts';

test('a domain was registered below its public suffix', () =>
  checkAll(
    [
      ['shop.example', 'shop.example'],
      ['t.eu.shop.example', 'shop.example'],
      ['t.shop.co.uk', 'shop.co.uk'],
      ['www.acme.myshopify.com', 'acme.myshopify.com'],
      ['co.uk', null],
      ['myshopify.com', null],
      ['a.b.run.app', null],
    ],
    ([host, domain]) => {
      expect(registrableDomain(host)).toBe(domain);
    },
  ));
