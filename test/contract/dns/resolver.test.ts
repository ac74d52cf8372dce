import { expect, test } from 'vitest';
import { createDnsResolver } from '#infra/egress/ssrf_guard.ts';
import type { DnsResolver } from '#pipelines/settings/domains.ts';
import { startDnsServer } from '#test/harness/dns_server.ts';
import { memoryDns } from '#test/harness/memory_dns.ts';
import { dnsResolverSuite } from './resolver_suite.ts';

/** For names whose server keeps silent; all others are given long. */
const SHORT_MS = 100;
const LATE_MS = 60_000;

dnsResolverSuite('in memory', async (lookUp) => ({ resolver: memoryDns(lookUp), close: async () => undefined }));

dnsResolverSuite("Node's, over UDP", async (lookUp) => {
  const server = await startDnsServer(lookUp);
  const [patient, hasty] = [LATE_MS, SHORT_MS].map((timeoutMs) =>
    createDnsResolver({ servers: [server.address], timeoutMs }),
  ) as [DnsResolver, DnsResolver];
  const of = (name: string): DnsResolver => (name === 'silent.example' ? hasty : patient);
  const resolver: DnsResolver = { txt: (name) => of(name).txt(name), cname: (name) => of(name).cname(name) };
  return { resolver, close: () => server.close() };
});

test('a name that is no name makes the answer unavailable, and asks nobody', async () => {
  let asked = 0;
  const server = await startDnsServer(() => {
    asked += 1;
    return 'nxdomain';
  });
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs: LATE_MS });
  expect(await resolver.txt(`${'a'.repeat(64)}.example`)).toEqual({ kind: 'unavailable' });
  expect(asked).toBe(0);
  await server.close();
});
