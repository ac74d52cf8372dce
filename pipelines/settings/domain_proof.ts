import { hash } from 'node:crypto';
import type { DomainProof } from '#schemas/setting.ts';

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
export interface DomainRecords {
  txt: DnsRecord;
  /** Null where this installation has no name that domains could be an alias of. */
  cname: DnsRecord | null;
}

/** What was found of the records: `unavailable` says nothing about them. */
export type ProofFinding = 'proven' | 'missing' | 'unavailable';

/** `lapsed`: it was verified, and its records were gone for longer than the grace. */
export type DomainState = 'pending' | 'verified' | 'failing' | 'lapsed';

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
