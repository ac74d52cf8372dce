// First-party domains of sites: claimed, verified by DNS, and looked up again for as long as they are claimed.

import { Type } from 'typebox';
import { repeatFromNow } from '#infra/concurrency/time_limits.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { AuditRecord } from '#pipelines/settings/audit.ts';
import { DOMAIN_WATCH } from '#pipelines/settings/dashboard_users.ts';
import * as names from '#pipelines/settings/domains.ts';
import {
  auditedRecords,
  type Fact,
  JournalError,
  type SettingRecord,
  type SettingsJournal,
  type SettingsView,
} from '#pipelines/settings/journal.ts';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { domainProofKey, type SettingsTable } from '#pipelines/settings/table.ts';
import { siteProblems } from '#pipelines/settings/validate.ts';
import type { DomainProof, Site } from '#schemas/setting.ts';
import { closed, idField, pageFields, pageOf } from '#services/control_api/fields.ts';
import { type DomainItem, domainParams, domainShape } from '#services/control_api/sites.ts';
import {
  type DomainRules,
  done,
  inSite,
  ofListed,
  page,
  type RequestContext,
  refused,
  refusedFor,
  resource,
  route,
  shown,
} from '../route.ts';

const base = '/v1/admin/sites/{site_id}/domains/{domain}';
const domainAnswer = (description: string) => ({ status: 200, schema: domainShape, description }) as const;

export const domainRoutes = resource('Sites', [
  route('GET', '/v1/admin/domains', 'listDomains', {
    access: ofListed('site.read'),
    summary: 'List claimed first-party domains, the site that claims each, and whether it is verified',
    query: closed({ site_id: Type.Optional(idField('Only domains of this site')), ...pageFields }),
    success: { status: 200, schema: pageOf(domainShape), description: 'Claims, sorted by domain and site' },
    errors: ['site_unknown'],
    run({ query }, { view: { table }, domainRules, may }) {
      const { site_id } = query;
      if (site_id !== undefined && table.site(site_id) === undefined) return refused('site_unknown');
      const claims = allClaims(table)
        .filter((claim) => site_id === undefined || claim.site_id === site_id)
        .filter((claim) => may('site.read', { site: claim.site_id }))
        .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
      return shown(page(claims, query, nameOf, (proof) => itemOf(proof, domainRules)));
    },
  }),
  route('GET', base, 'getDomain', {
    params: domainParams,
    access: inSite('site.read'),
    summary: 'Read a claimed domain, with the DNS records of which one has to be set',
    success: domainAnswer('The domain'),
    errors: ['site_unknown', 'domain_unknown'],
    run({ params }, world) {
      const found = findClaim(world.view, params);
      return 'code' in found ? refused(found.code) : answered([], found, world);
    },
  }),
  route('PUT', base, 'claimDomain', {
    params: domainParams,
    access: inSite('site.change'),
    summary: 'Claim a first-party domain for a site; it is served once it is verified',
    success: domainAnswer('The domain, with the DNS records of which one has to be set'),
    errors: ['site_unknown', 'claimed_elsewhere'],
    run({ params: { site_id, domain } }, world) {
      const site = world.view.table.site(site_id);
      if (site === undefined) return refused('site_unknown');
      const name = names.canonicalDomain(domain) ?? domain;
      const claimed = { ...site, domains: [...site.domains.filter((one) => one !== name), name] };
      const after = site.domains.includes(name) ? site : claimed;
      const refusal = refusedFor(siteProblems(after, world.view.table, site, world.domainRules.cnameTarget));
      return refusal ?? answered([{ body: { site: after } }], proofOf(world.view.table, site_id, name), world);
    },
  }),
  route('POST', `${base}/verify`, 'verifyDomain', {
    params: domainParams,
    access: inSite('site.change'),
    summary: 'Look for the DNS records of a claimed domain now, as is done regularly anyway',
    success: domainAnswer('The domain as it stands after that'),
    looksForProof: true,
    errors: ['site_unknown', 'domain_unknown', 'claimed_elsewhere', 'dns_unavailable'],
    run({ params }, world) {
      const found = findClaim(world.view, params);
      if ('code' in found) return refused(found.code);
      if (isTaken(world.view, found)) return refused('claimed_elsewhere', [takenProblem(found)]);
      if (world.proofFinding === null || world.proofFinding === 'unavailable') return refused('dns_unavailable');
      const after = names.proofAfter(found, world.proofFinding, world.nowMs, world.domainRules.graceMs);
      return answered(proofFacts(world.view.table, after), after, world);
    },
  }),
  route('DELETE', base, 'releaseDomain', {
    params: domainParams,
    access: inSite('site.change'),
    summary: 'Give up a claimed domain; it is served no more',
    success: domainAnswer('The domain that was given up'),
    errors: ['site_unknown', 'domain_unknown'],
    run({ params }, world) {
      const found = findClaim(world.view, params);
      if ('code' in found) return refused(found.code);
      const site = world.view.table.site(found.site_id) as Site;
      const domains = site.domains.filter((domain) => domain !== found.domain);
      return answered(siteFacts({ ...site, domains }, world.view.table), found, world);
    },
  }),
]);

/** A site as it is to be, without the proofs of domains that it gives up. */
export function siteFacts(site: Site, table: SettingsTable): Fact[] {
  const given = [...table.domainProofs(site.site_id).keys()].filter((domain) => !site.domains.includes(domain));
  return [{ body: { site } }, ...given.map((domain) => ({ removedKey: domainProofKey(site.site_id, domain) }))];
}

/** What is to be written for a domain after its records were looked for; nothing where nothing has changed. */
function foundFacts(
  view: SettingsView,
  claim: { site_id: string; domain: string },
  finding: names.ProofFinding,
  nowMs: number,
  graceMs: number,
): Fact[] {
  const found = findClaim(view, claim);
  if ('code' in found) return [];
  // Where two were proven at the same moment, one of them is served.
  if (isTaken(view, found)) return found.verified_at === null ? [] : proofFacts(view.table, unproven(found));
  return proofFacts(view.table, names.proofAfter(found, finding, nowMs, graceMs));
}

/** Whether another site has proven the domain: who does so first has it, until its records are gone for the grace. */
function isTaken({ table }: SettingsView, { site_id, domain }: DomainProof): boolean {
  return (table.siteServedAt(domain)?.site_id ?? site_id) !== site_id;
}

const takenProblem = ({ domain }: DomainProof): Problem =>
  problem('domain_claimed', 'domain', `${domain} is proven to be another site's`);

const unproven = ({ site_id, domain }: DomainProof): DomainProof => names.unprovenDomain(site_id, domain);

const nameOf = ({ domain, site_id }: DomainProof): string => `${domain} ${site_id}`;

/** Every claim of every site, with how far it is proven. */
function allClaims(table: SettingsTable): DomainProof[] {
  return table.sites().flatMap(({ site_id, domains }) => domains.map((domain) => proofOf(table, site_id, domain)));
}

function proofFacts(table: SettingsTable, after: DomainProof): Fact[] {
  const before = proofOf(table, after.site_id, after.domain);
  const isSame = before.verified_at === after.verified_at && before.failing_since === after.failing_since;
  return isSame ? [] : [{ body: { domain_proof: after } }];
}

function proofOf(table: SettingsTable, siteId: string, domain: string): DomainProof {
  return table.domainProofs(siteId).get(domain) ?? names.unprovenDomain(siteId, domain);
}

type FoundClaim = DomainProof | { code: 'site_unknown' | 'domain_unknown' };

function findClaim({ table }: SettingsView, { site_id, domain }: { site_id: string; domain: string }): FoundClaim {
  const site = table.site(site_id);
  if (site === undefined) return { code: 'site_unknown' };
  const name = names.canonicalDomain(domain) ?? domain;
  return site.domains.includes(name) ? proofOf(table, site_id, name) : { code: 'domain_unknown' };
}

function answered(facts: Fact[], proof: DomainProof, { domainRules }: RequestContext) {
  return done(facts, () => ({ body: itemOf(proof, domainRules) }));
}

function itemOf(proof: DomainProof, { cnameTarget, graceMs }: DomainRules): DomainItem {
  const { site_id, domain, verified_at, failing_since } = proof;
  const state = names.domainState(proof);
  return {
    domain,
    site_id,
    state,
    verified_at,
    failing_since,
    lapses_at: state === 'failing' && failing_since !== null ? failing_since + graceMs : null,
    records: names.domainRecords(site_id, domain, cnameTarget),
  };
}

interface DomainWatchOptions {
  journal: SettingsJournal;
  dns: names.DnsResolver;
  rules: DomainRules;
  nowMs(): number;
  logger: Pick<Logger, 'warn'>;
}

/** Questions that are open at a time. */
const TOGETHER = 16;
const DAY_MS = 86_400_000;

/**
 * Looks for the records of every claim that is due, and writes what has changed. Where two control services do so, the second
 * finds nothing to write. What cannot be stored is found again the next time.
 */
export async function checkDomains(options: DomainWatchOptions, rounds: BackoffSchedule): Promise<void> {
  const next = rounds.begin(allClaims(options.journal.view().table)).values();
  const worker = async (): Promise<void> => {
    for (const claim of next) {
      await checkDomain(options, claim);
      if (claim.verified_at === null) rounds.looked(claim);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, worker));
}

async function checkDomain(
  { journal, dns, rules, nowMs, logger }: DomainWatchOptions,
  claim: { site_id: string; domain: string },
): Promise<void> {
  const finding = await names.findProof(names.domainRecords(claim.site_id, claim.domain, rules.cnameTarget), dns);
  const now = nowMs();
  if (foundFacts(journal.view(), claim, finding, now, rules.graceMs).length === 0) return;
  try {
    await journal.change((view) => {
      const facts = foundFacts(view, claim, finding, now, rules.graceMs);
      return { records: notedOnceADay(view, auditedRecords(view, facts, DOMAIN_WATCH, now), now), result: null };
    });
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    logger.warn({ err: error, domain: claim.domain }, 'result of a domain check could not be stored');
  }
}

/**
 * A record that comes and goes, as whoever has the name server may make it, stands in the audit once a day as what is
 * missing, and once as what is served: the rest of that day is written without.
 */
function notedOnceADay(view: SettingsView, records: readonly SettingRecord[], nowMs: number): SettingRecord[] {
  const about = records.flatMap(({ setting }) => setting?.audit ?? []).at(0);
  if (about === undefined) return [...records];
  const isAlike = ({ changed_by, changed_at, setting_key, before, after }: AuditRecord): boolean =>
    changed_by === DOMAIN_WATCH &&
    changed_at > nowMs - DAY_MS &&
    setting_key === about.setting_key &&
    isOfService({ before, after }) === isOfService(about);
  const isNoted = view.audit.list(1, null, isAlike).length > 0;
  return isNoted ? records.filter(({ setting }) => !setting?.audit) : [...records];
}

/** Whether the domain was served after it and not before, or the other way round. */
const isOfService = ({ before, after }: Pick<AuditRecord, 'before' | 'after'>): boolean =>
  before === null || after === null || before.includes('verified_at');

/** Checks now and then again and again, each time when the last is over. The function that is answered ends it. */
export function watchDomains(
  options: DomainWatchOptions,
  everyMs: number,
  fatal: (error: unknown) => void,
): () => Promise<void> {
  const rounds = createLookRounds();
  return repeatFromNow(() => checkDomains(options, rounds), everyMs, fatal).stop;
}

type PolledDomain = Pick<DomainProof, 'site_id' | 'domain' | 'verified_at'>;

/** Which claims are looked for in one of the rounds over all. */
interface BackoffSchedule {
  /** Begins a round: of all claims those that are due. */
  begin<Item extends PolledDomain>(claims: readonly Item[]): Item[];
  /** A claim that is not verified was looked for. */
  looked(claim: PolledDomain): void;
}

/** A claim is left out of so many rounds at the most: for a day where there is one every 10 minutes. */
const ROUNDS_MAX = 144;

/**
 * A domain that is served is looked for in every round. Any claim else costs questions to name servers for as long as it
 * stands, and anybody may claim anything: it is looked for after twice as many rounds each time. Nothing is written of that,
 * so that a process begins with all of them.
 */
export function createLookRounds(): BackoffSchedule {
  let round = 0;
  let known = new Map<string, { due: number; gap: number }>();
  const nameOf = ({ site_id, domain }: PolledDomain): string => `${site_id} ${domain}`;
  return {
    begin(claims) {
      round += 1;
      const kept: typeof known = new Map();
      const due = claims.filter((claim) => {
        const wait = claim.verified_at === null ? known.get(nameOf(claim)) : undefined;
        if (wait !== undefined) kept.set(nameOf(claim), wait);
        return wait === undefined || wait.due <= round;
      });
      known = kept;
      return due;
    },
    looked(claim) {
      const before = known.get(nameOf(claim));
      const gap = before === undefined ? 1 : Math.min(2 * before.gap, ROUNDS_MAX);
      known.set(nameOf(claim), { due: round + gap, gap });
    },
  };
}
