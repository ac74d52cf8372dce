import { describe, expect, it } from 'vitest';
import { canonicalAllowedOrigin, canonicalDomain, canonicalOrigin } from '#pipelines/settings/domains.ts';
import { checkAll } from '#test/harness/check_all.ts';

describe('an origin', () => {
  it('is written in one form', () =>
    checkAll(
      [
        ['https://shop.example', 'https://shop.example'],
        ['https://shop.example/', 'https://shop.example'],
        ['HTTPS://Shop.Example', 'https://shop.example'],
        ['https://shop.example:443', 'https://shop.example'],
        ['https://shop.example:8443', 'https://shop.example:8443'],
        ['http://localhost:3000', 'http://localhost:3000'],
        ['https://bücher.example', 'https://xn--bcher-kva.example'],
        ['http://[::1]:80', 'http://[::1]'],
      ],
      ([text, origin]) => {
        expect(canonicalOrigin(text)).toBe(origin);
      },
    ));

  it('is none', () =>
    checkAll(
      [
        '',
        'shop.example',
        '*',
        'null',
        'https://',
        'https://shop.example/path',
        'https://shop.example?',
        'https://shop.example?a=1',
        'https://shop.example#',
        'https://user@shop.example',
        'https://shop.example https://other.example',
        ' https://shop.example',
        'ftp://shop.example',
        'chrome-extension://abc',
        'javascript:alert(1)',
        'https://shop.example:99999',
      ],
      (text) => {
        expect(canonicalOrigin(text)).toBeNull();
      },
    ));
});

describe('an allowed origin', () => {
  it('is written in one form', () =>
    checkAll(
      [
        ['https://*.shop.example', 'https://*.shop.example'],
        ['HTTPS://*.Shop.Example/', 'https://*.shop.example'],
        ['https://*.shop.example:443', 'https://*.shop.example'],
        ['https://*.shop.example:8443', 'https://*.shop.example:8443'],
        ['https://*.shop.co.uk', 'https://*.shop.co.uk'],
        ['https://*.shop.github.io', 'https://*.shop.github.io'],
        ['http://*.bücher.example', 'http://*.xn--bcher-kva.example'],
        ['https://shop.example', 'https://shop.example'],
      ],
      ([text, origin]) => {
        expect(canonicalAllowedOrigin(text)).toBe(origin);
      },
    ));

  it('is none', () =>
    checkAll(
      [
        'https://*',
        'https://*.',
        'https://*.com',
        'https://*.example',
        'https://*.localhost',
        'https://*.co.uk',
        'https://*.com.au',
        'https://*.or.jp',
        'https://*.github.io',
        'https://*.vercel.app',
        'https://*.myshopify.com',
        'https://*.pages.dev',
        'https://*.s3.eu-west-1.amazonaws.com',
        'https://*.*.shop.example',
        'https://www.*.shop.example',
        'https://w*.shop.example',
        'https://*shop.example',
        'https://*.192.0.2.1',
        'https://*.shop.example/path',
        'https://*.user@shop.example',
        '*.shop.example',
      ],
      (text) => {
        expect(canonicalAllowedOrigin(text)).toBeNull();
      },
    ));
});

describe('a domain', () => {
  it('is written in one form', () =>
    checkAll(
      [
        ['shop.example', 'shop.example'],
        ['Track.Shop.Example', 'track.shop.example'],
        ['bücher.example', 'xn--bcher-kva.example'],
        ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
        ['Track.Shop.Example.', 'track.shop.example'],
        [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
      ],
      ([text, domain]) => {
        expect(canonicalDomain(text)).toBe(domain);
      },
    ));

  it('is none', () =>
    checkAll(
      [
        '',
        'localhost',
        'localhost.',
        'shop.example..',
        '10.0.0.1.',
        '.shop.example',
        'shop..example',
        'shop.example:443',
        'https://shop.example',
        'shop.example/path',
        'sh op.example',
        'shop_1.example',
        '-shop.example',
        'shop-.example',
        '*.shop.example',
        '10.0.0.1',
        '0x7f.1',
        '[::1]',
        'a@shop.example',
        `${'a'.repeat(64)}.example`,
        `${'a.'.repeat(124)}example`,
      ],
      (text) => {
        expect(canonicalDomain(text)).toBeNull();
      },
    ));
});
