import { expect, test } from 'vitest';
import { blockListOf, createAddressNamer } from '#services/edge/auth.ts';

const nameOf = createAddressNamer(Buffer.alloc(32, 1), blockListOf(['127.0.0.0/8', '::1/128', '192.0.2.4']));

test('addresses of one network have one name, which does not show them', () => {
  expect(nameOf('203.0.113.1')).toBe(nameOf('::ffff:203.0.113.1'));
  expect(nameOf('203.0.113.1')).not.toBe(nameOf('203.0.113.2'));
  expect(nameOf('2001:db8::1')).toBe(nameOf('2001:db8:0:0:ffff::9'));
  expect(nameOf('2001:db8::1')).not.toBe(nameOf('2001:db8:0:1::1'));
  expect(nameOf('203.0.113.1')).toMatch(/^[\w-]{22}$/);
  // What a proxy has sent need not be an address.
  expect(nameOf('unknown')).toMatch(/^[\w-]{22}$/);
});

test.for(['127.0.0.1', '127.9.9.9', '::1', '192.0.2.4', '::ffff:127.0.0.1'])('%s is exempt', (ip) => {
  expect(nameOf(ip)).toBe(null);
});

test('a range that is none is refused', () => {
  expect(() => blockListOf(['everybody'])).toThrow();
  expect(() => blockListOf(['10.0.0.0/99'])).toThrow();
});
