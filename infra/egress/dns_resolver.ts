import { Resolver } from 'node:dns/promises';
import { type DnsAnswer, type DnsResolver, withoutRootDot } from '#pipelines/settings/domains.ts';

export interface ResolverOptions {
  /** Addresses of the servers to ask, with their ports; none: those of the system. */
  servers: readonly string[];
  /** The longest that one try may take; a question is tried twice. */
  timeoutMs: number;
}

const TRIES = 2;

/** Node's codes for a name that does not exist and for one without records of the kind. */
const ABSENT: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/** Asks name servers by Node's resolver, which looks into no file of hosts. */
export function createDnsResolver({ servers, timeoutMs }: ResolverOptions): DnsResolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return {
    txt: (name) => answerOf(async () => (await resolver.resolveTxt(name)).map((strings) => strings.join(''))),
    cname: (asked) =>
      answerOf(async () => (await resolver.resolveCname(asked)).map((name) => withoutRootDot(name.toLowerCase()))),
  };
}

/** Every error of the resolver is an answer; whatever else is thrown is a fault of ours. */
async function answerOf(ask: () => Promise<string[]>): Promise<DnsAnswer> {
  try {
    const values = await ask();
    return values.length === 0 ? { kind: 'absent' } : { kind: 'found', values };
  } catch (error) {
    const { code, syscall } = error as { code?: string; syscall?: string };
    if (code === undefined || syscall === undefined || !syscall.startsWith('query')) throw error;
    return { kind: ABSENT.has(code) ? 'absent' : 'unavailable' };
  }
}
