import { expect, test } from 'vitest';
import { readRedisAddress } from '#infra/redis/address.ts';

const SIGNED = { username: 'svc', password: 'p@/,s', isTls: false };
const LOGIN = 'svc:p%40%2F%2Cs';

test.each([
  ['redis://localhost', { kind: 'server', isTls: false, nodes: [{ host: 'localhost', port: 6379 }], database: 0 }],
  [
    `redis://${LOGIN}@10.0.0.1:7000/3`,
    { kind: 'server', ...SIGNED, nodes: [{ host: '10.0.0.1', port: 7000 }], database: 3 },
  ],
  [
    'rediss://:secret@[fe80::1]:7000',
    { kind: 'server', password: 'secret', isTls: true, nodes: [{ host: 'fe80::1', port: 7000 }], database: 0 },
  ],
  [
    `redis://${LOGIN}@a:7000,b,c:7002`,
    {
      kind: 'cluster',
      ...SIGNED,
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 6379 },
        { host: 'c', port: 7002 },
      ],
    },
  ],
  [
    `redis+sentinel://${LOGIN}@a,b:26380/main/2?username=s&password=q`,
    {
      kind: 'sentinel',
      ...SIGNED,
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_380 },
      ],
      master: 'main',
      database: 2,
      sentinel: { username: 's', password: 'q' },
    },
  ],
])('%s is understood', (url, address) => {
  expect(readRedisAddress(url)).toEqual(address);
});

test('one node is that of a cluster where that is said', () => {
  expect(readRedisAddress('redis://a:7000', true)).toEqual({
    kind: 'cluster',
    isTls: false,
    nodes: [{ host: 'a', port: 7000 }],
  });
});

test.each([
  'http://a:1',
  'redis://',
  'redis://a:b',
  'redis://a:1,',
  'redis://a:1/x',
  'redis://a:1,b:2/1',
  'redis+sentinel://a:1',
])('%s is refused, and not quoted', (url) => {
  expect(() => readRedisAddress(url)).toThrow(expect.objectContaining({ code: 'redis_address_invalid' }));
  expect(() => readRedisAddress(url)).not.toThrow(url);
});
