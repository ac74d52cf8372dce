import { expect, it } from 'vitest';
import { matchesUrl } from '#pipelines/settings/url_pattern.ts';

it.each([
  ['/fr/*', 'https://shop.example/fr/panier', true],
  ['/fr/*', 'https://shop.example/fr', false],
  ['/fr/*', 'https://shop.example/de/fr/', false],
  ['/cart', 'https://shop.example/cart?step=2', true],
  ['/cart', 'https://shop.example/cart/2', false],
  ['/cart?step=*', 'https://shop.example/cart?step=2', true],
  ['/cart?step=*', 'https://shop.example/cart', false],
  ['/CART*', 'https://shop.example/cart', true],
  ['https://shop.example/*', 'https://shop.example/a?b', true],
  ['https://shop.example/*', 'https://other.example/a', false],
  ['https://shop.example/a', 'https://shop.example/a?utm=1', true],
  ['shop.example/*', 'https://shop.example/x', true],
  ['*', 'https://shop.example/x', true],
  ['/a.c', 'https://shop.example/abc', false],
  ['/(*', 'https://shop.example/(x', true],
  ['/x', 'no address', false],
])('%s and %s: %s', (pattern, address, expected) => expect(matchesUrl(pattern, address)).toBe(expected));
