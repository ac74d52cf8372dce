import { expect, it } from 'vitest';
import { browser, server, take } from './context.ts';

const PEER = '198.51.100.7';
const addressOf = (properties: object, context = server()) => take({ event: 'e', properties }, context).client_ip;

it.each([
  ['10.0.0.5'],
  ['127.0.0.1'],
  ['192.168.1.1'],
  ['100.64.3.2'],
  ['169.254.0.9'],
  ['::1'],
  ['fd00::5'],
  ['fe80::5'],
  ['::ffff:10.0.0.5'],
])('the address %s that a server reports gives way to its own', (client_ip_address) => {
  expect(addressOf({ client_ip_address })).toBe(PEER);
});

it('an address of its own network stays where the server has no other', () => {
  expect(addressOf({ client_ip_address: '10.0.0.5' }, server({ clientIp: '127.0.0.1' }))).toBe('10.0.0.5');
  expect(addressOf({ client_ip_address: '10.0.0.5' }, server({ clientIp: null }))).toBe('10.0.0.5');
});

it.each([
  ['10.0.0.5, 203.0.113.77, 198.51.100.9', '203.0.113.77'],
  ['203.0.113.77,10.0.0.5', '203.0.113.77'],
  [['10.0.0.5', '203.0.113.77'], '203.0.113.77'],
  ['203.0.113.77:4711', '203.0.113.77'],
  ['10.0.0.5:80, 203.0.113.77:4711', '203.0.113.77'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['[2001:DB8::1]', '2001:db8::1'],
  ['203.000.113.077', '203.0.113.77'],
  [[{ toString: 1 }, ['203.0.113.1'], null, 7, '203.0.113.77'], '203.0.113.77'],
])('of the addresses %j it is the first that can be a shopper’s', (client_ip_address, expected) => {
  expect(addressOf({ client_ip_address })).toBe(expected);
});

it.each([
  { client_ip_address: '10.0.0.5', user_data: { client_ip_address: '203.0.113.77' } },
  { user_data: { client_ip_address: '203.0.113.77' }, client_ip_address: '10.0.0.5' },
])('a shopper’s goes before one of the server’s network: %j', (properties) => {
  expect(addressOf(properties)).toBe('203.0.113.77');
});

it('of a browser the peer’s stays, whatever it is', () => {
  expect(addressOf({ client_ip_address: '203.0.113.77' }, browser({ clientIp: '10.0.0.9' }))).toBe('10.0.0.9');
});

it.each(['ip', '$ip', 'ip_override', 'client_ip_address'])('members of %s that are no texts are dropped', (key) => {
  for (const members of [
    [{ toString: 1 }],
    [['203.0.113.77']],
    [[{ toString: 1 }]],
    [{ valueOf: 1 }],
    [Object.create(null)],
  ]) {
    expect(addressOf({ [key]: members })).toBe(PEER);
    expect(addressOf({ user_data: { [key]: members } })).toBe(PEER);
  }
});

it.each(['203.0.113.77:', '203.0.113.77:123456', '[203.0.113.77', '[2001:db8::1]443', '2001:db8::1:99999'])(
  '%s is no address',
  (client_ip_address) => expect(addressOf({ client_ip_address })).toBe(PEER),
);
