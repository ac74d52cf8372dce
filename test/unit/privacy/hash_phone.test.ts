import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { normalisePhone, phoneHashes, readPhone } from '#pipelines/privacy/hash_identifiers.ts';
import { checkAll } from '#test/harness/check_all.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('a phone number', () => {
  it('is read in its country', () =>
    checkAll(
      [
        ['(650)555-1212', 'US', '+16505551212'],
        ['+1 650 555 1212', null, '+16505551212'],
        ['+1 (650) 555-1212 ext. 7', null, '+16505551212'],
        ['+44 (0)20 7946 0958', null, '+442079460958'],
        ['tel:+49-30-23125000', null, '+493023125000'],
        ['0151 12345678', 'DE', '+4915112345678'],
        ['0151 12345678', 'de', '+4915112345678'],
        ['0016505551212', 'BE', '+16505551212'],
        ['0016505551212', 'US', '+16505551212'],
        ['00 44 20 7946 0958', 'US', '+442079460958'],
        ['011 44 20 7946 0958', 'US', '+442079460958'],
        ['٠١٥١ ١٢٣٤٥٦٧٨', 'DE', '+4915112345678'],
        ['+39 06 1234 5678', null, '+390612345678'],
        ['16505551212', null, '+16505551212'],
        ['16505551212', 'US', '+16505551212'],
        ['4915112345678', 'US', '+4915112345678'],
        ['4915112345678', null, '+4915112345678'],
        ['+1 555 123 4567', null, '+15551234567'],
        ['555 123 4567', 'US', '+15551234567'],
        ['0151 12345678', null, null],
        ['0151 12345678', 'XX', null],
        ['+1 23', null, null],
        ['12', 'US', null],
        ['not a number', 'US', null],
        ['', 'US', null],
        ['1'.repeat(61), 'US', null],
        ['+5215512345678', null, '+525512345678'],
        ['+52 1 55 1234 5678', 'US', '+525512345678'],
        ['0052 1 55 1234 5678', 'DE', '+525512345678'],
        ['5215512345678', 'MX', '+525512345678'],
        ['+52 55 1234 5678', 'MX', '+525512345678'],
        ['0919876543210', 'IN', '+919876543210'],
        ['044 020 7946 0958', 'GB', '+442079460958'],
        ['011 49 1512 3456789', 'US', '+4915123456789'],
        ['(+49) 171 1234567', null, '+491711234567'],
        ['(+49) 171 1234567', 'US', '+491711234567'],
        ['(+1) 650 253 0000', null, '+16502530000'],
        ['(+1 650) 253-0000', 'DE', '+16502530000'],
        ['(+49)(0)171 1234567', null, '+491711234567'],
        ['( +49 171 1234567 )', null, '+491711234567'],
        ['(0049) 171 1234567', 'US', '+491711234567'],
        ['(+52) 1 55 1234 5678', null, '+525512345678'],
        ['(0171) 1234567', 'DE', '+491711234567'],
        ['++49 171 1234567', null, '+491711234567'],
        ['+0049 171 1234567', null, '+491711234567'],
        ['+49 171 1234567;', null, '+491711234567'],
        ['+49 171 1234567\u202c', null, '+491711234567'],
        ['\u202a+49 171 1234567\u200e', null, '+491711234567'],
        [
          '\uff08\uff0b\uff14\uff19\uff09\u3000\uff11\uff17\uff11\uff11\uff12\uff13\uff14\uff15\uff16\uff17',
          null,
          '+491711234567',
        ],
        ['&#43;49 171 1234567', null, '+491711234567'],
        ['(+) 12', 'US', null],
        ['8~10 44 7400 123456', 'RU', '+447400123456'],
        ['00700 44 7400 123456', 'KR', '+447400123456'],
      ],
      ([sent, country, e164]) => {
        expect(normalisePhone(sent, country)).toBe(e164);
      },
    ));

  it('is hashed with and without its plus', () => {
    expect(phoneHashes('+16505551212')).toEqual({
      phone: sha256('+16505551212'),
      phone_digits: sha256('16505551212'),
    });
  });

  it('has the hash that TikTok’s own library gives it', () => {
    expect(phoneHashes('+16505551212').phone).toMatch(/^1e231c66[0-9a-f]+ffbc8$/);
  });

  it('hashed by the sender stands for both forms, in lower case', () => {
    const hashed = sha256('16505551212');
    expect(phoneHashes(hashed.toUpperCase())).toEqual({ phone: hashed, phone_digits: hashed });
  });

  it('hashed with MD5 is refused', () => {
    expect(normalisePhone(createHash('md5').update('16505551212').digest('hex'), 'US')).toBeNull();
  });

  it.each<[string, string | null]>([
    ['+10000000000', null],
    ['0000000000', 'US'],
    ['+1 111 111 1111', null],
    ['555-555-5555', 'US'],
    ['123-456-7890', 'US'],
    ['212-345-6789', 'US'],
    ['+1 555 123 4567', null],
    ['12345', 'DE'],
    ['0151 12345678', 'DE'],
    ['07777777777', 'GB'],
    ['07123456789', 'GB'],
    ['0612345678', 'FR'],
    ['0101010101', 'FR'],
    ['0102030405', 'FR'],
    ['600000000', 'ES'],
    ['3333333333', 'IT'],
    ['(11) 99999-9999', 'BR'],
    ['9999999999', 'IN'],
    ['9876543210', 'IN'],
    ['0400000000', 'AU'],
    ['05555555555', 'TR'],
  ])('%s in %s is nobody’s in particular', (sent, country) => {
    expect(readPhone(sent, country)?.isOfOne ?? false).toBe(false);
  });

  it.each<[string, string | null]>([
    ['+1 650 555 1212', null],
    ['0470 12 34 56', 'BE'],
    ['0171 1234567', 'DE'],
    ['020 7946 0958', 'GB'],
    ['06 98 76 10 22', 'FR'],
    ['+49 30 23125000', null],
    ['98200 00123', 'IN'],
  ])('%s in %s is somebody’s', (sent, country) => {
    expect(readPhone(sent, country)?.isOfOne).toBe(true);
  });
});
