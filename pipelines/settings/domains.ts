// Names of the web: canonical forms, which can be claimed, and the proof that one is a site's.

import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import type { DomainProof, Site } from '#schemas/setting.ts';
import { isPublicSuffix } from './public_suffixes.ts';
import { WILDCARD } from './url_pattern.ts';

/** What the name servers say of a name. */
export type DnsAnswer = { kind: 'found'; values: readonly string[] } | { kind: 'absent' } | { kind: 'unavailable' };

/** Asks the name servers. Never rejects: that there was no answer is an answer too. */
export interface DnsResolver {
  /** The TXT records of a name, each with its strings joined. */
  txt(name: string): Promise<DnsAnswer>;
  /** The name that a name is an alias of, in lower case and without the root's dot. */
  cname(name: string): Promise<DnsAnswer>;
}

/** A record that the owner of a domain sets. */
interface DnsRecord {
  name: string;
  value: string;
}

/** What proves that a domain is the site's: either record will do. */
interface DomainRecords {
  txt: DnsRecord;
  /** Null where this installation has no name that domains could be an alias of. */
  cname: DnsRecord | null;
}

/** What was found of the records: `unavailable` says nothing about them. */
export type ProofFinding = 'proven' | 'missing' | 'unavailable';

/** `lapsed`: it was verified, and its records were gone for longer than the grace. */
type DomainState = 'pending' | 'verified' | 'failing' | 'lapsed';

const CHALLENGE_LABEL = '_svc-challenge';
const VALUE_PREFIX = 'svc-site-verification=';
const TOKEN_CHARACTERS = 32;

/**
 * The records for a site's claim of a domain. Both name the site, so that what proves one site's claim proves no other's: an
 * alias that was left behind gives nobody the domain. The token need not be secret, as everybody can read it in the DNS.
 *
 * @param cnameTarget A name of this installation with a wildcard below it, in lower case.
 */
export function domainRecords(siteId: string, domain: string, cnameTarget: string | null): DomainRecords {
  const token = hash('sha256', `svc-domain\n${siteId}\n${domain}`).slice(0, TOKEN_CHARACTERS);
  return {
    txt: { name: `${CHALLENGE_LABEL}.${domain}`, value: VALUE_PREFIX + token },
    cname: cnameTarget === null ? null : { name: domain, value: `${token}.${cnameTarget}` },
  };
}

/** Asks whether one of the records is set. */
export async function findProof({ txt, cname }: DomainRecords, dns: DnsResolver): Promise<ProofFinding> {
  const findings = await Promise.all([
    dns.txt(txt.name).then((answer) => findingOf(answer, txt.value)),
    cname === null ? 'missing' : dns.cname(cname.name).then((answer) => findingOf(answer, cname.value)),
  ]);
  if (findings.includes('proven')) return 'proven';
  return findings.includes('unavailable') ? 'unavailable' : 'missing';
}

function findingOf(answer: DnsAnswer, wanted: string): ProofFinding {
  if (answer.kind === 'unavailable') return 'unavailable';
  return answer.kind === 'found' && answer.values.includes(wanted) ? 'proven' : 'missing';
}

/** The proof of a claim that was not looked for yet. */
export function unprovenDomain(siteId: string, domain: string): DomainProof {
  return { site_id: siteId, domain, verified_at: null, failing_since: null };
}

/**
 * A proof after the records were looked for. A verified domain whose records are missing stays verified for the grace, as
 * a zone may be moved; servers that do not answer change nothing.
 *
 * @param nowMs Milliseconds since 1970 UTC.
 */
export function proofAfter(before: DomainProof, finding: ProofFinding, nowMs: number, graceMs: number): DomainProof {
  if (finding === 'unavailable') return before;
  if (finding === 'proven') return { ...before, verified_at: before.verified_at ?? nowMs, failing_since: null };
  if (before.verified_at === null) return before;
  const failingSince = before.failing_since ?? nowMs;
  const isLapsed = nowMs - failingSince >= graceMs;
  return { ...before, verified_at: isLapsed ? null : before.verified_at, failing_since: failingSince };
}

export function domainState({ verified_at, failing_since }: DomainProof): DomainState {
  if (verified_at === null) return failing_since === null ? 'pending' : 'lapsed';
  return failing_since === null ? 'verified' : 'failing';
}

const DOMAIN_CHARACTERS_MAX = 253;
const LABEL_PATTERN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * An origin as browsers write it in the Origin header: scheme, host in lower-case punycode, and the port unless it is
 * the scheme's own. Null for anything that is more, or less, than an http or https origin (a final slash is forgiven).
 */
export function canonicalOrigin(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.href === `${url.origin}/` && !/[?#\s]/.test(text) ? url.origin : null;
}

/**
 * An origin of an allow-list: one as browsers write it, or with `*.` before the host, for every name below it. Null for
 * anything else, and for a wildcard below a public suffix, which would let strangers in.
 */
export function canonicalAllowedOrigin(text: string): string | null {
  const wildcard = WILDCARD.exec(text);
  if (wildcard === null) return text.includes('*') ? null : canonicalOrigin(text);
  const [, scheme = '', rest = ''] = wildcard;
  const origin = canonicalOrigin(scheme + rest);
  if (origin === null) return null;
  const { protocol, hostname, host } = new URL(origin);
  return canonicalDomain(hostname) === hostname && !isPublicSuffix(hostname) ? `${protocol}//*.${host}` : null;
}

/** A name without the root's dot, with which one that is fully qualified may end (RFC 1034, 3.1). */
export function withoutRootDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/**
 * A domain as settings keep it, whether it came in a setting, a certificate request or a Host header: lower-case punycode,
 * without the root's dot. Null for addresses, single labels and anything that is no host name.
 */
export function canonicalDomain(text: string): string | null {
  if (!/^[^\s/:?#@%[\]\\]+$/.test(text)) return null;
  const domain = withoutRootDot(domainToASCII(text));
  const labels = domain.split('.');
  if (labels.length < 2 || domain.length > DOMAIN_CHARACTERS_MAX || isIP(domain) !== 0) return null;
  return labels.every((label) => LABEL_PATTERN.test(label)) ? domain : null;
}

/**
 * Ends of names that are for special uses (RFC 6761, 6762, 7686, 9476 and ICANN's `internal`): they lead into a network of
 * one's own or to machines by their addresses, and no name server of the world can say whose they are. Those for
 * documentation and tests (`example`, `test`) do no harm and stay.
 */
const SPECIAL_ENDS: ReadonlySet<string> = new Set([
  'alt',
  'arpa',
  'internal',
  'invalid',
  'local',
  'localdomain',
  'localhost',
  'onion',
]);

/**
 * Whether a name could be a site's own: below a public suffix, no name for special uses, and not one of this
 * installation's own.
 *
 * @param domain In lower-case punycode.
 * @param cnameTarget The name with a wildcard below it that domains may be an alias of; null where there is none.
 */
export function isClaimable(domain: string, cnameTarget: string | null): boolean {
  if (isPublicSuffix(domain) || SPECIAL_ENDS.has(domain.slice(domain.lastIndexOf('.') + 1))) return false;
  return cnameTarget === null || (domain !== cnameTarget && !domain.endsWith(`.${cnameTarget}`));
}

/** Which of its claims a site has proven. */
export function provenDomains(site: Site | undefined, proofs: ReadonlyMap<string, DomainProof> | undefined): string[] {
  return site?.domains.filter((domain) => (proofs?.get(domain)?.verified_at ?? null) !== null) ?? [];
}
