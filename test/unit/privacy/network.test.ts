import { describe, expect, it } from 'vitest';
import { addressBytes, networkOf, normaliseIp } from '#pipelines/privacy/ip_addresses.ts';
import { checkAll } from '#test/harness/check_all.ts';

describe('the network of an address', () => {
  it('is of its family’s size', () =>
    checkAll(
      [
        ['203.0.113.9', '203.0.113.9'],
        ['::ffff:203.0.113.9', '203.0.113.9'],
        ['::FFFF:cb00:7109', '203.0.113.9'],
        ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
        ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
        ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
        ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
        ['fe80::1%eth0', 'fe80::/64'],
        ['::1', '::/64'],
        ['unknown', 'unknown'],
      ],
      ([ip, network]) => {
        expect(networkOf(ip)).toBe(network);
      },
    ));
});

describe('an address', () => {
  it('is spelled in one way', () =>
    checkAll(
      [
        [' 203.0.113.9 ', '203.0.113.9'],
        ['::ffff:203.0.113.9', '203.0.113.9'],
        ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
        ['[2001:db8::1]', '2001:db8::1'],
        ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
        ['fe80::1%eth0', 'fe80::1'],
        ['203.0.113.256', null],
        ['203.0.113', null],
        ['203.0.113.9:443', null],
        ['localhost', null],
        ['', null],
      ],
      ([ip, spelled]) => {
        expect(normaliseIp(ip)).toBe(spelled);
      },
    ));

  it('has 4 bytes or 16', () => {
    expect(addressBytes('203.0.113.255')).toEqual([203, 0, 113, 255]);
    expect(addressBytes('::ffff:1.2.3.4')).toEqual([1, 2, 3, 4]);
    expect(addressBytes('1::2')).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
  });
});
