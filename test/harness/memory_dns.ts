import type { DnsAnswer, DnsResolver } from '#pipelines/settings/domains.ts';
import type { DnsKind, DnsReply } from './dns_server.ts';

/** A resolver in this process, over the same words as the name server on the loopback. */
export function memoryDns(lookUp: (name: string, kind: DnsKind) => DnsReply): DnsResolver {
  return {
    txt: async (name) => answerOf(lookUp(name, 'TXT'), (strings) => strings.join('')),
    cname: async (name) => answerOf(lookUp(name, 'CNAME'), (strings) => strings.join('').toLowerCase()),
  };
}

function answerOf(reply: DnsReply, textOf: (strings: readonly string[]) => string): DnsAnswer {
  if (reply === 'silent' || reply === 'servfail') return { kind: 'unavailable' };
  if (typeof reply === 'string' || reply.length === 0) return { kind: 'absent' };
  return { kind: 'found', values: reply.map(textOf) };
}
