import type { Logger } from '#infra/log/logger.ts';
import { type DnsResolver, domainRecords, findProof } from '#pipelines/settings/domain_proof.ts';
import { auditedRecords, JournalError, type SettingsJournal } from '#pipelines/settings/journal.ts';
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
    await journal.change((view) => ({
      records: auditedRecords(view, foundFacts(view, claim, finding, now, rules.graceMs), WATCH_LABEL, now),
      result: null,
    }));
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    logger.warn({ err: error, domain: claim.domain }, 'what was found of a domain could not be stored');
  }
}

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
