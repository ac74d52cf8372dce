import type { Logger } from '#infra/log/logger.ts';
import type { AuditRecord } from '#pipelines/settings/audit.ts';
import { type DnsResolver, domainRecords, findProof } from '#pipelines/settings/domain_proof.ts';
import {
  auditedRecords,
  JournalError,
  type SettingRecord,
  type SettingsJournal,
  type SettingsView,
} from '#pipelines/settings/journal.ts';
import { allClaims, foundFacts } from './domains.ts';
import { createLookRounds, type LookRounds } from './look_rounds.ts';
import type { DomainRules } from './route.ts';

export interface DomainWatchOptions {
  journal: SettingsJournal;
  dns: DnsResolver;
  rules: DomainRules;
  nowMs(): number;
  logger: Pick<Logger, 'warn'>;
}

/** The label in the audit for changes that nobody asked for. */
const WATCH_LABEL = 'domain-watch';
/** Questions that are open at a time. */
const TOGETHER = 16;
const DAY_MS = 86_400_000;

/**
 * Looks for the records of every claim that is due, and writes what has changed. Where two control services do so, the second
 * finds nothing to write. What cannot be stored is found again the next time.
 */
export async function checkDomains(options: DomainWatchOptions, rounds: LookRounds): Promise<void> {
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
  const finding = await findProof(domainRecords(claim.site_id, claim.domain, rules.cnameTarget), dns);
  const now = nowMs();
  if (foundFacts(journal.view(), claim, finding, now, rules.graceMs).length === 0) return;
  try {
    await journal.change((view) => {
      const facts = foundFacts(view, claim, finding, now, rules.graceMs);
      return { records: notedOnceADay(view, auditedRecords(view, facts, WATCH_LABEL, now), now), result: null };
    });
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    logger.warn({ err: error, domain: claim.domain }, 'what was found of a domain could not be stored');
  }
}

/**
 * A record that comes and goes, as whoever has the name server may make it, stands in the audit once a day as what is missing, and once
 * as what is served: the rest of that day is written without.
 */
function notedOnceADay(view: SettingsView, records: readonly SettingRecord[], nowMs: number): SettingRecord[] {
  const about = records.flatMap(({ setting }) => setting?.audit ?? []).at(0);
  if (about === undefined) return [...records];
  const isAlike = ({ changed_by, changed_at, setting_key, before, after }: AuditRecord): boolean =>
    changed_by === WATCH_LABEL &&
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
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const rounds = createLookRounds();
  let running: Promise<void> = Promise.resolve();
  const run = (): void => {
    running = checkDomains(options, rounds)
      .catch(fatal)
      .then(() => {
        if (!isStopped) timer = setTimeout(run, everyMs).unref();
      });
  };
  run();
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await running;
  };
}
