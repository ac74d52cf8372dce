import { describe, expect, it } from 'vitest';
import { isLoopbackAddress, isPublicAddress } from '#infra/egress/ssrf_guard.ts';
import { checkAll } from '#test/harness/check_all.ts';

describe('public addresses', () => {
  it('are these', () =>
    checkAll(
      [
        '1.1.1.1',
        '8.8.8.8',
        '93.184.216.34',
        '100.63.255.255',
        '100.128.0.1',
        '172.15.0.1',
        '172.32.0.1',
        '2606:4700::1111',
        '2a00:1450:4001::1',
      ],
      (address) => expect(isPublicAddress(address)).toBe(true),
    ));

  it('are none of these', () =>
    checkAll(
      [
        ['unspecified', '0.0.0.0'],
        ['private 10/8', '10.0.0.1'],
        ['carrier-grade NAT', '100.64.0.1'],
        ['carrier-grade NAT, a metadata service', '100.100.100.200'],
        ['loopback', '127.0.0.1'],
        ['loopback, another', '127.255.255.254'],
        ['link-local metadata', '169.254.169.254'],
        ['container metadata', '169.254.170.2'],
        ['private 172.16/12', '172.31.255.255'],
        ['protocol assignments', '192.0.0.192'],
        ['documentation', '192.0.2.1'],
        ['private 192.168/16', '192.168.1.1'],
        ['benchmarking', '198.19.0.1'],
        ['multicast', '224.0.0.1'],
        ['reserved', '240.0.0.1'],
        ['broadcast', '255.255.255.255'],
        ['a cloud host service', '168.63.129.16'],
        ['v6 unspecified', '::'],
        ['v6 loopback', '::1'],
        ['v4-mapped private', '::ffff:10.0.0.1'],
        ['v4-mapped public', '::ffff:8.8.8.8'],
        ['v4-mapped in hex', '::ffff:a00:1'],
        ['v4-compatible', '::10.0.0.1'],
        ['NAT64', '64:ff9b::a00:1'],
        ['NAT64 of a network of its own', '64:ff9b:1::a00:1'],
        ['v4-translated', '::ffff:0:a00:1'],
        ['discard only', '100::1'],
        ['segment routing', '5f00::1'],
        ['unique local', 'fd00:ec2::254'],
        ['v6 link-local', 'fe80::1'],
        ['site-local', 'fec0::1'],
        ['v6 multicast', 'ff02::1'],
        ['6to4', '2002:a00:1::1'],
        ['Teredo', '2001:0:a00:1::1'],
        ['v6 documentation', '2001:db8::1'],
        ['a name', 'localhost'],
        ['an empty text', ''],
      ],
      ([, address]) => expect(isPublicAddress(address)).toBe(false),
    ));
});

describe('loopback addresses', () => {
  it('are these, and no others', () =>
    checkAll(
      [
        ['127.0.0.1', true],
        ['127.8.9.1', true],
        ['::1', true],
        ['::ffff:127.0.0.1', false],
        ['10.0.0.1', false],
        ['8.8.8.8', false],
      ],
      ([address, expected]) => expect(isLoopbackAddress(address)).toBe(expected),
    ));
});
