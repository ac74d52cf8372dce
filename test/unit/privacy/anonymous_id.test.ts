import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { anonymousId, customerAnonymousId } from '#pipelines/privacy/hash_identifiers.ts';

const salt = Buffer.alloc(32, 5);
const id = (ip: string | null, userAgent: string | null = 'UA', site = 's', key = salt): string =>
  anonymousId(key, site, ip, userAgent);

describe('an anonymous id', () => {
  it('is the first 128 bits of the keyed hash in base32', () => {
    const digest = createHmac('sha256', salt).update('s\x00203.0.113.9\0UA').digest().subarray(0, 16);
    const bits = [...digest].map((byte) => byte.toString(2).padStart(8, '0')).join('');
    const letters = bits.match(/.{1,5}/g)?.map((five) => Number.parseInt(five.padEnd(5, '0'), 2)) ?? [];
    const text = letters.map((five) => 'abcdefghijklmnopqrstuvwxyz234567'.charAt(five)).join('');
    expect(id('203.0.113.9')).toBe(`anon_${text}`);
    expect(id('203.0.113.9')).toMatch(/^anon_[a-z2-7]{26}$/);
  });

  it('stays the same within an IPv6 /64 and in every spelling of an IPv4 address', () => {
    expect(id('2001:db8::1')).toBe(id('2001:db8:0:0:9::7'));
    expect(id('::ffff:203.0.113.9')).toBe(id('203.0.113.9'));
  });

  it.each([
    ['another address', id('203.0.113.8')],
    ['another /64', id('2001:db8:0:1::1')],
    ['another user agent', id('203.0.113.9', 'UB')],
    ['no user agent', id('203.0.113.9', null)],
    ['no address', id(null)],
    ['another site', id('203.0.113.9', 'UA', 't')],
    ['another day’s salt', id('203.0.113.9', 'UA', 's', Buffer.alloc(32, 6))],
    ['a customer', customerAnonymousId(salt, 's', 'ab')],
  ])('differs for %s', (_case, other) => {
    expect(other).toMatch(/^anon_[a-z2-7]{26}$/);
    expect(other).not.toBe(id('203.0.113.9'));
  });
});
