import { expect, test } from 'vitest';
import { fromRequest } from '#clients/node/src/client.ts';

const ID = '0198b2f0-7c11-7abc-8def-0123456789ab';
const OTHER = '0198b2f0-7c11-7abc-8def-0123456789ac';
const forwarded = { 'x-forwarded-for': '198.51.100.66, 203.0.113.7, 10.0.0.2' };
const socket = { remoteAddress: '10.0.0.1' };

test('a request of Node says who the shopper is', () => {
  const headers = { cookie: `a=1; svc_did=${ID}`, 'user-agent': 'Firefox' };
  expect(fromRequest({ headers, socket: { remoteAddress: '::ffff:203.0.113.7' } })).toEqual({
    distinctId: ID,
    ip: '203.0.113.7',
    userAgent: 'Firefox',
  });
});

test('a Fetch request says it but for the address, which its platform has', () => {
  const request = new Request('https://shop.example/', {
    headers: { cookie: `svc_did=${ID}`, 'user-agent': 'Firefox', 'cf-connecting-ip': '203.0.113.7', ...forwarded },
  });
  expect(fromRequest(request)).toEqual({ distinctId: ID, ip: undefined, userAgent: 'Firefox' });
  expect(fromRequest(request, { trustProxy: 'CF-Connecting-IP' }).ip).toBe('203.0.113.7');
});

test('a request of Express or Fastify says the address by the setting of the framework', () => {
  expect(fromRequest({ headers: forwarded, socket, ip: '203.0.113.7' }).ip).toBe('203.0.113.7');
});

test('what calls itself an address without a connection is not believed', () => {
  expect(fromRequest({ headers: {}, ip: '203.0.113.7' }).ip).toBeUndefined();
});

test.for([
  [undefined, '10.0.0.1'],
  [false, '10.0.0.1'],
  [0, '10.0.0.1'],
  [1, '10.0.0.2'],
  [2, '203.0.113.7'],
  [3, '198.51.100.66'],
  // Fewer have spoken than stand there.
  [4, '198.51.100.66'],
  ['x-real-ip', undefined],
] as const)('with %s proxies trusted it is %s', ([trustProxy, ip]) => {
  expect(fromRequest({ headers: forwarded, socket }, { trustProxy }).ip).toBe(ip);
});

test('several headers of forwarders are one list', () => {
  const headers = { 'x-forwarded-for': ['198.51.100.66', '203.0.113.7'] };
  expect(fromRequest({ headers, socket }, { trustProxy: 1 }).ip).toBe('203.0.113.7');
  expect(fromRequest({ headers: {}, socket }, { trustProxy: 1 }).ip).toBe('10.0.0.1');
});

test.for([
  ['203.0.113.7:4711', '203.0.113.7'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['unknown', undefined],
  ['203.0.113.7<script>', undefined],
  ['', undefined],
] as const)('%s is read as %s', ([said, ip]) => {
  expect(fromRequest({ headers: { 'x-real-ip': said } }, { trustProxy: 'x-real-ip' }).ip).toBe(ip);
});

test.for([
  undefined,
  'a=1',
  'svc_did=',
  'svc_did=jane@example.com',
  `xsvc_did=${ID}`,
  `svc_did=${ID}x`,
  `svc_did=${ID}; svc_did=${OTHER}`,
])('%s names no visitor', (cookie) => {
  expect(fromRequest({ headers: { cookie } }).distinctId).toBeUndefined();
});
