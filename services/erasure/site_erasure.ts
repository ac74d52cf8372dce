// Carries out the erasure of a whole site.

import { setTimeout as sleep } from 'node:timers/promises';
import { failpoint } from '#infra/failpoint.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { finished, inPhase, KNOWN_EVERYWHERE_MS, withErased } from '#pipelines/erasure/erasure.ts';
import type { Erasure } from '#schemas/records.ts';
import {
  areDeleted,
  drain,
  type ErasureLog,
  type ErasureParts,
  POLL_MS,
  save,
  tombstonesOf,
  type Work,
  waitFor,
} from './erasure_log.ts';

/** The same steps as of persons: each is written down, and may be repeated. */
export async function eraseSite(
  parts: ErasureParts,
  log: ErasureLog,
  erasureId: string,
  leads: () => boolean,
): Promise<void> {
  const batch = (): Erasure[] => [...log.now.values()].filter((one) => one.erasure_id === erasureId);
  const work: Work = { parts, log, batch, leads };
  while (leads()) {
    const [site] = batch();
    if (site === undefined || site.phase === 'done') return;
    if (site.phase === 'suppressing') await suppress(work, site);
    else if (site.phase === 'draining') await drain(work);
    else await deleteRows(work, site);
  }
}

/**
 * Waits until the settings are gone, which control removes, and every process knows that; deletes what Redis and identity.links have
 * then, as until then what was under way may have written more.
 */
async function suppress(work: Work, site: Erasure): Promise<void> {
  const { parts, log } = work;
  const { nowMs } = parts;
  if (parts.settings.site(site.site_id) !== undefined) return waitFor(work, 'suppressing', 'settings');
  if (site.detail !== 'waiting') {
    return save(log, [{ ...inPhase(site, 'suppressing', 'waiting', nowMs()), suppressed_at: nowMs() }]);
  }
  const waitMs = site.suppressed_at + KNOWN_EVERYWHERE_MS - nowMs();
  if (waitMs > 0) return sleep(Math.min(waitMs, POLL_MS));
  await eraseIndex(work, site, 'draining');
}

async function eraseIndex({ parts, log }: Work, site: Erasure, next: Erasure['phase']): Promise<Erasure> {
  const keys = await parts.siteKeys(site.site_id);
  const links = await parts.data.linksOfSite(site.site_id);
  const found = [
    { place: 'redis', count: keys },
    { place: TOPICS.links, count: links.length },
  ];
  const erased = withErased(inPhase(site, next, '', parts.nowMs()), found);
  // Of millions no transaction would end in time.
  for (const tombstones of tombstonesOf(links)) await log.producer.append(...tombstones);
  await save(log, [erased]);
  return erased;
}

/** Where rows have come after they were deleted, it all begins once more. */
async function deleteRows(work: Work, site: Erasure): Promise<void> {
  const { parts, log, batch } = work;
  const { siteRows: rows, nowMs, logger } = parts;
  const { site_id } = site;
  const underWay = () => rows.underWay(site_id);
  await save(log, [withErased(inPhase(site, 'deleting', 'rows', nowMs()), await rows.count(site_id))]);
  await rows.deleteMerged(site_id);
  if (!(await areDeleted(work, underWay))) return;
  failpoint('erasure.step');
  await rows.deleteRows(site_id);
  if (!(await areDeleted(work, underWay))) return;
  failpoint('erasure.step');
  const isLate = (await rows.count(site_id)).some(({ count }) => count > 0);
  const now = batch()[0] ?? site;
  if (isLate) {
    return save(log, [{ ...inPhase(now, 'suppressing', 'waiting', nowMs()), round: now.round + 1 }]);
  }
  await rows.end();
  const done = finished(await eraseIndex(work, now, 'deleting'), nowMs());
  await save(log, [done]);
  const counts = Object.fromEntries(done.erased.map(({ place, count }) => [place, count]));
  logger.info({ erasure: done.erasure_id, site: site_id, ...counts }, 'site erased');
}
