import { expect, test } from 'vitest';
import { createDnsResolver } from '#infra/dns/resolver.ts';
import { startDnsServer } from '#test/harness/dns_server.ts';
import { memoryDns } from '#test/harness/memory_dns.ts';
import { dnsResolverSuite } from './resolver_suite.ts';

const TIMEOUT_MS = 100;

dnsResolverSuite('in memory', async (lookUp) => ({ resolver: memoryDns(lookUp), close: async () => undefined }));

dnsResolverSuite("Node's, over UDP", async (lookUp) => {
  const server = await startDnsServer(lookUp);
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs: TIMEOUT_MS });
  return { resolver, close: () => server.close() };
});

test('a name that is no name makes the answer unavailable, and asks nobody', async () => {
  let asked = 0;
  const server = await startDnsServer(() => {
    asked += 1;
    return 'nxdomain';
  });
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs: TIMEOUT_MS });
  expect(await resolver.txt(`${'a'.repeat(64)}.example`)).toEqual({ kind: 'unavailable' });
  expect(asked).toBe(0);
  await server.close();
});
