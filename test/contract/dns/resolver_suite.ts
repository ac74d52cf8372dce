import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DnsResolver } from '#pipelines/settings/domains.ts';
import type { DnsKind, DnsReply } from '#test/harness/dns_server.ts';

type LookUp = (name: string, kind: DnsKind) => DnsReply;

const LONG = 'x'.repeat(200);

function zone(name: string, kind: DnsKind): DnsReply {
  if (name === 'silent.example') return 'silent';
  if (name === 'broken.example') return 'servfail';
  if (name === 'empty.example') return 'nodata';
  if (kind === 'TXT' && name === 'one.example') return [['proof=1']];
  if (kind === 'TXT' && name === 'two.example') return [['v=spf1 -all'], ['proof=2']];
  if (kind === 'TXT' && name === 'long.example') return [[LONG, 'and the rest']];
  if (kind === 'CNAME' && name === 'alias.example') return [['Target.Example']];
  return 'nxdomain';
}

/** What everything that asks name servers must answer. */
export function dnsResolverSuite(
  name: string,
  open: (lookUp: LookUp) => Promise<{ resolver: DnsResolver; close(): Promise<void> }>,
): void {
  describe(name, () => {
    let resolver: DnsResolver;
    let close: () => Promise<void>;
    beforeAll(async () => {
      ({ resolver, close } = await open(zone));
    });
    afterAll(() => close());

    test('a TXT record is found', async () => {
      expect(await resolver.txt('one.example')).toEqual({ kind: 'found', values: ['proof=1'] });
    });

    test('of several TXT records all are found', async () => {
      const answer = await resolver.txt('two.example');
      expect(answer.kind === 'found' && [...answer.values].sort()).toEqual(['proof=2', 'v=spf1 -all']);
    });

    test('the strings of a TXT record are one text', async () => {
      expect(await resolver.txt('long.example')).toEqual({ kind: 'found', values: [`${LONG}and the rest`] });
    });

    test('an alias is found, in lower case', async () => {
      expect(await resolver.cname('alias.example')).toEqual({ kind: 'found', values: ['target.example'] });
    });

    test.each(['txt', 'cname'] as const)('%s of a name that does not exist is absent', async (kind) => {
      expect(await resolver[kind]('nobody.example')).toEqual({ kind: 'absent' });
    });

    test.each(['txt', 'cname'] as const)('%s of a name without such records is absent', async (kind) => {
      expect(await resolver[kind]('empty.example')).toEqual({ kind: 'absent' });
    });

    test.each(['silent', 'broken'])('a server that is %s makes the answer unavailable', async (state) => {
      expect(await resolver.txt(`${state}.example`)).toEqual({ kind: 'unavailable' });
      expect(await resolver.cname(`${state}.example`)).toEqual({ kind: 'unavailable' });
    });
  });
}
