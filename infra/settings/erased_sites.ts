// Removes the settings of sites that are erased: with the request, or after it where that was cut off.

import type { Logger } from '#infra/log/logger.ts';
import { erasedSiteRecords } from '#pipelines/settings/erased_site.ts';
import { JournalError, type SettingsJournal } from '#pipelines/settings/journal.ts';
import type { Erasure } from '#schemas/records.ts';

interface ErasedSitesOptions {
  journal: SettingsJournal;
  /** By their ids, kept current. */
  erasures: ReadonlyMap<string, Erasure>;
  logger: Logger;
  nowMs(): number;
}

/** @throws JournalError */
export async function removeErasedSite(journal: SettingsJournal, erasure: Erasure, nowMs: number): Promise<void> {
  const { site_id, asked_by } = erasure;
  await journal.change((view) => ({ records: erasedSiteRecords(view, site_id, asked_by, nowMs), result: null }));
}

/** Looks again and again whether a site is there still whose erasure has begun. The function that is answered ends it. */
export function watchErasedSites(
  { journal, erasures, logger, nowMs }: ErasedSitesOptions,
  everyMs: number,
  fatal: (error: unknown) => void,
): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();

  async function removeAll(): Promise<void> {
    for (const erasure of erasures.values()) {
      const isThere = journal.view().table.site(erasure.site_id) !== undefined;
      if (!erasure.site || erasure.phase !== 'suppressing' || !isThere) continue;
      try {
        await removeErasedSite(journal, erasure, nowMs());
      } catch (error) {
        if (!(error instanceof JournalError)) throw error;
        logger.warn({ err: error, site: erasure.site_id }, 'settings of an erased site could not be removed yet');
      }
    }
  }
  const run = (): void => {
    running = removeAll()
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
