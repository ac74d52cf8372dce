// Carries out erasures, on one leader at a time: what is under way goes on where it was, whoever was killed.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ErasedSubject } from '#infra/clickhouse/erasure/erase_rows.ts';
import { failpoint } from '#infra/failpoint.ts';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { FoundLink } from '#infra/persons/person_data.ts';
import {
  batchOf,
  finished,
  inPhase,
  isOpen,
  isToBeFound,
  KNOWN_EVERYWHERE_MS,
  keptOf,
  nextBatch,
  phaseOf,
  restUntil,
  SEALED_AS,
  suppressing,
  UNOPENED,
  withErased,
} from '#pipelines/erasure/erasure.ts';
import { isNoticeDue } from '#pipelines/erasure/notices.ts';
import { type PersonSubject, sizeOf, together } from '#pipelines/erasure/subject.ts';
import { CLOCK_DIFFERENCE_MS } from '#pipelines/erasure/suppression.ts';
import { type Erasure, isOfNode } from '#schemas/records.ts';
import { joinLeaderElection, repeatRounds } from '#services/stage/stage.ts';
import {
  areDeleted,
  drain,
  type ErasureLog,
  type ErasureParts,
  havePassed,
  POLL_MS,
  save,
  tombstonesOf,
  type Work,
  waitFor,
} from './erasure_log.ts';
import { noticesOf, sealedAnew } from './notices.ts';
import { createPersonSweep } from './person_sweep.ts';

/** After a failure; most are of a part that is away. */
const RETRY_MS = 3_000;
/** After a look through all rows of a site that failed. */
const FIND_AGAIN_MS = 60_000;
/** By then a call of delivery is over, and its outcome written. */
const SETTLED_MS = 30_000;

interface Rest {
  /** Until when no batch of persons begins. */
  untilMs: number;
  /** Until when nobody is looked for in restored rows, as that failed. */
  findAfterMs: number;
}

/** What is sealed of an erasure cannot be opened. */
class ErasureSealedError extends Error {
  readonly code = 'erasure_sealed';
}

/** Runs until it is stopped. Of several processes the one leads whom the group gives the topic's only partition. */
export async function runErasures(
  parts: ErasureParts,
  onFatal: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const { session, erasures, logger, nowMs } = parts;
  const election = await joinLeaderElection({ session, logger, fatal: onFatal }, 'erasure', TOPICS.erasures);
  const rest: Rest = { untilMs: 0, findAfterMs: 0 };
  const isLookedFor = (one: Erasure): boolean => isToBeFound(one) && nowMs() >= rest.findAfterMs;
  const isDue = (): boolean => {
    const all = [...erasures.all.values()];
    const isOfOne = (one: Erasure): boolean =>
      (isOpen(one) && Boolean(one.site)) ||
      isLookedFor(one) ||
      keptOf(one, nowMs()) !== one ||
      isNoticeDue(one, nowMs());
    return all.some(isOfOne) || nextBatch(all, nowMs() < rest.untilMs).length > 0;
  };
  // Keys change with a start: what is told later is sealed by the new one then.
  let isFirst = true;
  const sweep = createPersonSweep(parts);

  async function round(leads: () => boolean): Promise<void> {
    if (!leads()) return sweep.reset();
    if (isFirst || isDue()) await carryOn(parts, leads, rest);
    else await sweep.step(() => leads() && !isDue());
    isFirst = false;
  }

  const onFailure = (error: unknown): void => logger.warn({ err: error }, 'erasure interrupted, trying again');
  return repeatRounds(election, { round, pauseMs: POLL_MS, retryMs: RETRY_MS, onFailure }, onFatal);
}

/** Carries on with what there is, until there is nothing more or another one leads. Whoever dies in it has it called anew by the next. */
export async function carryOn(parts: ErasureParts, leads: () => boolean, rest: Rest): Promise<void> {
  const { session, erasures, nowMs } = parts;
  const producer = await openFencedProducer(session.kafka, session.groupOf('erasure.run'));
  try {
    // Behind the fence nobody else writes but requests, which are new ones.
    const now = await erasures.readNow();
    const log: ErasureLog = { now, producer, codec: erasures.codec };
    await expire(log, nowMs());
    const anew = [...now.values()]
      .map((one) => sealedAnew(parts.seal, one))
      .filter((one) => now.get(one.erasure_id) !== one);
    if (anew.length > 0) await save(log, anew);
    await setAside(parts, log);
    await parts.notices.sendDue(log);
    const site = [...now.values()].find((one) => one.site && isOpen(one));
    if (site !== undefined) await eraseSite(parts, log, site.erasure_id, leads);
    const batch = nextBatch(now.values(), nowMs() < rest.untilMs);
    const [first] = batch;
    if (first !== undefined && leads()) {
      const added = batch.filter((one) => now.get(one.erasure_id) !== one);
      if (added.length > 0) await save(log, added);
      await carryOut(parts, log, first.batch, leads, rest);
    }
    // Last: all rows of a site are looked through, and whoever asked now waits for none of that.
    await findRestored(parts, log, leads, rest);
  } finally {
    await producer.close();
  }
}

/**
 * Finds who those erasures are about that are carried out once more: whose rows are there again. Of whom there are none, it is done.
 */
async function findRestored(parts: ErasureParts, log: ErasureLog, leads: () => boolean, rest: Rest): Promise<void> {
  if (parts.nowMs() < rest.findAfterMs) return;
  const bySite = Map.groupBy([...log.now.values()].filter(isToBeFound), ({ site_id }) => site_id);
  if (bySite.size === 0) return;
  rest.findAfterMs = parts.nowMs() + FIND_AGAIN_MS;
  await parts.restored.sync();
  for (const [siteId, erasures] of bySite) {
    if (!leads()) return;
    rest.findAfterMs = parts.nowMs() + FIND_AGAIN_MS;
    const found = await parts.restored.find(siteId, erasures);
    rest.findAfterMs = 0;
    const nowMs = parts.nowMs();
    await save(
      log,
      erasures.map((one) => {
        const subject = found.get(one.erasure_id);
        return subject === undefined
          ? finished(one, nowMs)
          : { ...inPhase(one, 'suppressing', '', nowMs), sealed: sealedOf(parts, one, subject) };
      }),
    );
    parts.logger.info(
      { site: siteId, erasures: erasures.length, found: found.size },
      'erasing anew whose rows were restored',
    );
  }
}

const sealedOf = ({ seal }: ErasureParts, { erasure_id }: Erasure, subject: PersonSubject): string =>
  seal.seal(SEALED_AS, erasure_id, JSON.stringify(subject));

/** Leaves out what cannot be opened, so that the others are carried out. */
async function setAside({ seal, logger, nowMs }: ErasureParts, log: ErasureLog): Promise<void> {
  for (const erasure of [...log.now.values()].filter(isOpen)) {
    const { erasure_id, sealed, site } = erasure;
    if (site || isToBeFound(erasure)) continue;
    if (sealed !== null && seal.open(SEALED_AS, erasure_id, sealed) !== null) continue;
    logger.error(
      { erasure: erasure_id },
      'erasure cannot be carried out: SECRETS_KEYS lacks its key; ask for it again',
    );
    await save(log, [inPhase(erasure, erasure.phase, UNOPENED, nowMs())]);
  }
}

async function expire(log: ErasureLog, nowMs: number): Promise<void> {
  for (const erasure of [...log.now.values()]) {
    const kept = keptOf(erasure, nowMs);
    if (kept === erasure) continue;
    if (kept !== null) await save(log, [kept]);
    else {
      await log.producer.append(TOPICS.erasures, 0, [{ key: erasure.erasure_id, value: null }]);
      log.now.delete(erasure.erasure_id);
    }
  }
}

async function carryOut(
  parts: ErasureParts,
  log: ErasureLog,
  id: string,
  leads: () => boolean,
  rest: Rest,
): Promise<void> {
  const batch = (): Erasure[] => batchOf(log.now.values(), id);
  const work: Work = { parts, log, batch, leads };
  while (leads()) {
    const phase = phaseOf(batch());
    if (phase === undefined) return;
    if (phase === 'suppressing') await suppress(work);
    else if (phase === 'draining') await drain(work);
    else await deleteRows(work, rest);
  }
}

/**
 * Erases the person from the identity graph at once, so that whoever comes back meanwhile joins nobody; and once more when every
 * process drops their events, as until then what was under way may have taught it again.
 */
async function suppress(work: Work): Promise<void> {
  const { parts, log, batch } = work;
  const { nowMs } = parts;
  const isSecond = batch().every(({ detail }) => detail === 'waiting');
  if (isSecond) {
    const sinceMs = Math.max(...batch().map(({ suppressed_at: atMs }) => atMs));
    const waitMs = sinceMs + KNOWN_EVERYWHERE_MS - nowMs();
    if (waitMs > 0) return sleep(Math.min(waitMs, POLL_MS));
  }
  if (await grow(work)) return;
  if (!(await eraseIndex(work))) return;
  const detail = isSecond ? '' : 'waiting';
  await save(
    log,
    batch().map((one) => inPhase(one, isSecond ? 'draining' : 'suppressing', detail, nowMs())),
  );
}

/** Looks for more that is known to be theirs, and suppresses that too; false where there was none, and nothing is left to look for. */
async function grow({ parts, log, batch, leads }: Work): Promise<boolean> {
  const grown: Erasure[] = [];
  for (const erasure of batch()) {
    if (!leads()) return true;
    // Who holds an identifier of theirs now may be they themselves, who came back since and asked for nothing.
    if (erasure.is_again === true) continue;
    const subject = opened(parts, erasure);
    const found = await parts.data.resolve(erasure.site_id, subject);
    if (sizeOf(found) > sizeOf(subject)) grown.push(regrown(parts, erasure, found));
  }
  if (grown.length > 0) await save(log, grown);
  return grown.length > 0;
}

/** An erasure of more than it was of before; every process has to hear of it first. */
function regrown(parts: ErasureParts, erasure: Erasure, subject: PersonSubject): Erasure {
  const { identitySecret, nowMs } = parts;
  const { persons, identifiers, suppressed_at } = suppressing(identitySecret, erasure.site_id, subject, nowMs());
  return {
    ...inPhase(erasure, 'suppressing', '', nowMs()),
    // One that is carried out once more suppresses also what nothing is left of.
    persons: [...new Set([...erasure.persons, ...persons])],
    identifiers: [...new Set([...erasure.identifiers, ...identifiers])],
    ...{ suppressed_at, sealed: sealedOf(parts, erasure, subject) },
  };
}

function opened({ seal }: ErasureParts, { erasure_id, sealed }: Erasure): PersonSubject {
  const text = sealed === null ? null : seal.open(SEALED_AS, erasure_id, sealed);
  if (text === null) throw new ErasureSealedError('what is to be erased cannot be opened');
  return JSON.parse(text) as PersonSubject;
}

/** Erases them from Redis and identity.links; false where they have become one with others, who are theirs then. */
async function eraseIndex({ parts, log, batch }: Work): Promise<boolean> {
  const subjects = new Map(batch().map((erasure) => [erasure, opened(parts, erasure)]));
  const persons = new Map<string, Set<string>>();
  for (const [{ site_id }, subject] of subjects) {
    persons.set(site_id, new Set([...(persons.get(site_id) ?? []), ...subject.persons]));
  }
  const links = await parts.data.links(persons);
  const erased: Erasure[] = [];
  for (const [erasure, subject] of subjects) {
    const own = linksOf(links, erasure.site_id, subject);
    const nodes = own.flatMap(({ link }) => (isOfNode(link) ? [link.target] : []));
    const all = [...new Set([...nodes, ...subject.identifiers.map(({ node }) => node)])];
    const outcome = await parts.index.erase(erasure.site_id, subject.persons, all);
    if (!outcome.ok) {
      const others = { persons: outcome.others, identifiers: [] };
      await save(log, [...erased, regrown(parts, erasure, together(subject, others))]);
      return false;
    }
    const found = [
      { place: 'redis', count: outcome.keys },
      { place: TOPICS.links, count: own.length },
    ];
    erased.push(withErased(erasure, found));
  }
  await save(log, erased, tombstonesOf(links));
  return true;
}

function linksOf(links: readonly FoundLink[], siteId: string, { persons }: PersonSubject): FoundLink[] {
  const own = new Set(persons);
  return links.filter(({ link }) => link.site_id === siteId && (own.has(link.person_id) || own.has(link.target)));
}

/**
 * Deletes their rows, those of event_rows last, as all else is found by them. Where rows have come after that, it all begins once
 * more.
 */
async function deleteRows(work: Work, rest: Rest): Promise<void> {
  const { parts, log, batch } = work;
  const { rows, nowMs, logger } = parts;
  const subjects = batch().flatMap((erasure) => subjectsOf(erasure, opened(parts, erasure)));
  // What is noted of whom a sweep has begun to delete is theirs until that is done.
  if (!(await areDeleted(work, rows.underWay))) return;
  await rows.begin(subjects);
  const found = await rows.count();
  const notices = await noticesOf(parts, batch(), (one) => opened(parts, one));
  const ofErasure = (id: string) => found.filter(({ erasure_id }) => erasure_id === id);
  await save(
    log,
    batch().map((one) => ({
      ...withErased(inPhase(one, 'deleting', 'rows', nowMs()), ofErasure(one.erasure_id)),
      notices: notices.get(one.erasure_id) ?? [],
    })),
  );
  failpoint('erasure.step');
  const beganMs = nowMs();
  await rows.deleteBesides();
  if (!(await areDeleted(work, rows.underWay))) return;
  failpoint('erasure.step');
  await rows.deleteEvents();
  if (!(await areDeleted(work, rows.underWay))) return;
  rest.untilMs = restUntil(beganMs, nowMs());
  failpoint('erasure.step');
  // What delivery had under way tells of its events after they were suppressed.
  if (!(await haveSettled(work))) return;
  await rows.deleteBesides();
  if (!(await areDeleted(work, rows.underWay))) return;
  await rows.begin(subjects);
  if (await rows.hasRows()) {
    const again = (one: Erasure): Erasure => ({ ...inPhase(one, 'suppressing', '', nowMs()), round: one.round + 1 });
    return save(log, batch().map(again));
  }
  // A process that stood still since before may have taught Redis again.
  if (!(await eraseIndex(work))) return;
  await rows.end();
  const done = batch().map((one) => finished(one, nowMs()));
  await save(log, done);
  for (const { erasure_id, site_id, erased } of done) {
    const counts = Object.fromEntries(erased.map(({ place, count }) => [place, count]));
    logger.info({ erasure: erasure_id, site: site_id, ...counts }, 'person erased');
  }
}

/**
 * Waits until calls of delivery that were under way are over and their outcomes stand in their table, where the site has destinations;
 * false where another one leads.
 */
async function haveSettled(work: Work): Promise<boolean> {
  const { parts, batch, leads } = work;
  const atMs = Math.max(...batch().map((one) => (one.destinations.length === 0 ? 0 : one.suppressed_at + SETTLED_MS)));
  while (parts.nowMs() < atMs) {
    if (!leads()) return false;
    await waitFor(work, 'deleting', 'outcomes');
  }
  return atMs === 0 || havePassed(work, [['warehouse', TOPICS.outcomes]], 'deleting');
}

function subjectsOf(
  { erasure_id, site_id, asked_at }: Erasure,
  { persons, identifiers }: PersonSubject,
): ErasedSubject[] {
  const shared = { erasure_id, site_id, until: asked_at + CLOCK_DIFFERENCE_MS };
  return [
    ...persons.map((value): ErasedSubject => ({ ...shared, kind: 'person', value })),
    ...identifiers.map(({ kind, value }): ErasedSubject => ({ ...shared, kind, value })),
  ];
}

/** The same steps as of persons: each is written down, and may be repeated. */
async function eraseSite(parts: ErasureParts, log: ErasureLog, erasureId: string, leads: () => boolean): Promise<void> {
  const batch = (): Erasure[] => [...log.now.values()].filter((one) => one.erasure_id === erasureId);
  const work: Work = { parts, log, batch, leads };
  while (leads()) {
    const [site] = batch();
    if (site === undefined || site.phase === 'done') return;
    if (site.phase === 'suppressing') await suppressSite(work, site);
    else if (site.phase === 'draining') await drain(work);
    else await deleteSiteRows(work, site);
  }
}

/**
 * Waits until the settings are gone, which control removes, and every process knows that; deletes what Redis and identity.links have
 * then, as until then what was under way may have written more.
 */
async function suppressSite(work: Work, site: Erasure): Promise<void> {
  const { parts, log } = work;
  const { nowMs } = parts;
  if (parts.settings.site(site.site_id) !== undefined) return waitFor(work, 'suppressing', 'settings');
  if (site.detail !== 'waiting') {
    return save(log, [{ ...inPhase(site, 'suppressing', 'waiting', nowMs()), suppressed_at: nowMs() }]);
  }
  const waitMs = site.suppressed_at + KNOWN_EVERYWHERE_MS - nowMs();
  if (waitMs > 0) return sleep(Math.min(waitMs, POLL_MS));
  await eraseSiteIndex(work, site, 'draining');
}

async function eraseSiteIndex({ parts, log }: Work, site: Erasure, next: Erasure['phase']): Promise<Erasure> {
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
async function deleteSiteRows(work: Work, site: Erasure): Promise<void> {
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
  const done = finished(await eraseSiteIndex(work, now, 'deleting'), nowMs());
  await save(log, [done]);
  const counts = Object.fromEntries(done.erased.map(({ place, count }) => [place, count]));
  logger.info({ erasure: done.erasure_id, site: site_id, ...counts }, 'site erased');
}
