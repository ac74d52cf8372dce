import { describe, expect, it } from 'vitest';
import { isReachableAddress } from '#pipelines/privacy/ip_addresses.ts';
import { checkAll } from '#test/harness/check_all.ts';

describe('an address that can be a visitor’s', () => {
  it('is each of these', () =>
    checkAll(
      [
        '8.8.8.8',
        '203.0.113.7',
        '1.1.1.1',
        '100.63.255.255',
        '100.128.0.0',
        '172.15.255.255',
        '172.32.0.0',
        '169.253.0.1',
        '192.167.0.1',
        '223.255.255.255',
        '::ffff:8.8.8.8',
        '2001:4860:4860::8888',
        '2a00:1450:4001:82a::200e',
        '64:ff9b::808:808',
        '2002:808:808::1',
      ],
      (ip) => expect(isReachableAddress(ip)).toBe(true),
    ));

  it('is none of these', () =>
    checkAll(
      [
        ['loopback', '127.0.0.1'],
        ['loopback', '127.8.9.1'],
        ['private', '10.1.2.3'],
        ['private', '172.16.0.1'],
        ['private', '172.31.255.255'],
        ['private', '192.168.1.20'],
        ['shared', '100.64.0.1'],
        ['shared', '100.127.255.255'],
        ['link-local', '169.254.169.254'],
        ['unspecified', '0.0.0.0'],
        ['benchmark', '198.19.0.1'],
        ['multicast', '224.0.0.1'],
        ['broadcast', '255.255.255.255'],
        ['loopback', '::1'],
        ['unspecified', '::'],
        ['unique local', 'fd12:3456::1'],
        ['unique local', 'fc00::1'],
        ['link-local', 'fe80::1'],
        ['link-local with a zone', 'fe80::1%eth0'],
        ['multicast', 'ff02::1'],
        ['v4-mapped private', '::ffff:10.0.0.1'],
        ['v4-mapped loopback', '::ffff:7f00:1'],
        ['v4-mapped shared', '::FFFF:100.64.0.1'],
        ['NAT64 of a private one', '64:ff9b::10.0.0.1'],
        ['6to4 of a private one', '2002:c0a8:101::1'],
        ['no address', 'unknown'],
        ['no address', ''],
      ],
      ([, ip]) => expect(isReachableAddress(ip)).toBe(false),
    ));
});
