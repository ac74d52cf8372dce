// Forgets persons of whom nothing came for as long as their site keeps persons: in slices, between which erasures have their turn.

import { setTimeout as sleep } from 'node:timers/promises';
import { CORRECTED_DAYS } from '#infra/clickhouse/merge_persons.ts';
import { failpoint } from '#infra/failpoint.ts';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { FoundLink } from '#infra/persons/person_data.ts';
import { isOpen, restUntil } from '#pipelines/erasure/erasure.ts';
import {
  type DueSweep,
  dueSweep,
  keepsPersonsForDays,
  lapsedSites,
  type PersonGroup,
  stillUnseen,
  wholeGroups,
} from '#pipelines/erasure/retention.ts';
import { isOfNode } from '#schemas/records.ts';
import { createStoredMark } from '#services/stage/stored_mark.ts';
import { areDeleted, type ErasureLog, type ErasureParts, POLL_MS, tombstonesOf, type Work } from './erasure_log.ts';

const DAY_MS = 86_400_000;
/** After a split rows of both sides are given to each other for so long. */
const CORRECTED_MS = CORRECTED_DAYS * DAY_MS;
const LOOK_MS = 10_000;
/** Persons of a slice, which are in memory with their links. */
const SLICE = 50_000;
/** Persons whom Redis is asked of while all others wait, and groups whose links go in one transaction. */
const TOGETHER = 200;
/** Clocks may differ by this: of edges, and of this host and Redis. */
const CLOCKS_MS = 10 * 60_000;
/** So long after it was looked who was seen, nobody is forgotten by it any more: who stood still meanwhile knows nothing of later events. */
const DECIDED_MS = 10 * 60_000;
/** By then Redis has written down what it deleted: a restart would else bring back what is found by nothing any more. */
const WRITTEN_MS = 5_000;

class ClockDiffersError extends Error {
  readonly code = 'clock_differs';
}

/** Each stage on the way of an event to its row, behind those that write what it reads. */
const WAY = [
  ['dedup', [TOPICS.raw]],
  ['identity', [TOPICS.unique, TOPICS.redeliverIdentity]],
  ['warehouse', [TOPICS.identified, TOPICS.redeliverWarehouse, TOPICS.links]],
] as const;

/**
 * Who comes while it is waited for counts only where that was short: longer, and it is waited for anew. Above the longest interval
 * of inserts.
 */
const STORED_MS_MAX = 2 * 60_000;
/** Stages that are behind for so long are told of. */
const BEHIND_MS = 3_600_000;
/** By then rows which said that somebody was seen may be gone: who had not been noted is looked for anew. */
const UNNOTED_MS_MAX = 6 * 3_600_000;

class MutationFailsError extends Error {
  readonly code = 'mutation_fails';
}

/** ClickHouse has rows still that were to be deleted: somebody killed the mutation. */
class RowsLeftError extends Error {
  readonly code = 'rows_left';
}

/** What was decided was not carried out in time; whose links went from Redis alone is found again. */
class DecidedTooLateError extends Error {
  readonly code = 'decided_too_late';
}

/** Of one site. */
interface Sweep extends DueSweep {
  begunMs: number;
  advance: ReturnType<typeof createStoredMark>;
  /** Since when it is waited for what is stored, or was told last that it is. */
  behindSinceMs: number;
  isNoted: boolean;
  /** Who is to be forgotten next, where nothing comes of them until all that came meanwhile is stored. */
  slice: { found: PersonGroup[]; links: FoundLink[] } | null;
  /** The leader of the last group that was looked at. */
  after: string;
  restUntilMs: number;
  forgotten: number;
}

/** A site whose sweep failed comes behind the others for so long. */
const FAILED_MS = 10 * 60_000;

/**
 * What is under way is known in memory alone: whoever comes next begins anew, and finds whoever is not forgotten yet. Of a slice
 * Redis goes first, then records of identity.links, then rows, of which links go last: by these persons are found.
 */
export function createPersonSweep(parts: ErasureParts, slice = SLICE) {
  const { session, settings, unseen, logger, nowMs } = parts;
  let sweep: Sweep | null = null;
  let lookAtMs = 0;
  /** Whether any site keeps persons for some time, or did so when it was looked last: else nothing is asked of ClickHouse. */
  let areAny = true;
  const failedAtMs = new Map<string, number>();

  async function next(): Promise<Sweep | null> {
    const hadAny = areAny;
    areAny = settings.sites().some(keepsPersonsForDays);
    if (!areAny && !hadAny) return null;
    // What is forgotten by a clock that is wrong is forgotten for good.
    if (Math.abs((await parts.index.nowMs()) - nowMs()) > CLOCKS_MS) throw new ClockDiffersError();
    const marks = await unseen.marks();
    await unseen.forgetSites(lapsedSites(settings.sites(), marks));
    const begunMs = nowMs();
    for (const [siteId, atMs] of failedAtMs) if (begunMs - atMs > FAILED_MS) failedAtMs.delete(siteId);
    const sites = settings.sites().filter(({ site_id }) => !failedAtMs.has(site_id));
    const due = dueSweep(sites, marks, begunMs, parts.sweepHour, parts.eventDays);
    if (due === null) return null;
    return {
      ...{ ...due, begunMs, advance: createStoredMark(session, WAY, nowMs), behindSinceMs: begunMs },
      ...{ isNoted: false, slice: null, after: '', restUntilMs: 0, forgotten: 0 },
    };
  }

  /** Whether all that the edge had taken at some moment since it was first asked is stored. */
  async function isStored(now: Sweep): Promise<boolean> {
    const mark = await now.advance();
    if (!mark.isStored) return isBehind(now, mark.topic);
    await unseen.sync();
    if (nowMs() - mark.beganMs > STORED_MS_MAX) return isBehind(now, 'all');
    now.behindSinceMs = nowMs();
    return true;
  }

  function isBehind(now: Sweep, topic: string): false {
    if (nowMs() - now.behindSinceMs > BEHIND_MS) {
      now.behindSinceMs = nowMs();
      logger.warn({ site: now.siteId, topic }, 'persons not forgotten: stages are behind');
    }
    return false;
  }

  async function note({ siteId, sinceMs, notedMs, begunMs }: Sweep): Promise<void> {
    if (sinceMs === null) await unseen.forgetSites([siteId]);
    // Their rows have their persons only now, also those that are older than what is looked through every day.
    const haveNewRows = await unseen.wereSplit(siteId, notedMs - CORRECTED_MS, begunMs - CORRECTED_MS);
    await unseen.note(siteId, haveNewRows ? 0 : (sinceMs ?? 0));
    await unseen.noteOthers(siteId, begunMs);
  }

  async function step(leads: () => boolean): Promise<void> {
    if (sweep === null) {
      if (nowMs() < lookAtMs) return;
      sweep = await next();
      if (sweep === null) lookAtMs = nowMs() + LOOK_MS;
      return;
    }
    const now = sweep;
    const isTooOld = !now.isNoted && nowMs() - now.begunMs > UNNOTED_MS_MAX;
    if (isTooOld || settings.site(now.siteId)?.person_days !== now.days) {
      sweep = null;
      return;
    }
    if (nowMs() < now.restUntilMs) return;
    if (!now.isNoted) {
      if (!(await isStored(now))) return;
      await note(now);
      now.isNoted = true;
      return;
    }
    if (now.slice === null) {
      const found = await look(parts, now, slice);
      const ofSlice = new Map([[now.siteId, new Set(found.flatMap(({ persons }) => persons))]]);
      if (found.length > 0) now.slice = { found, links: await parts.data.links(ofSlice) };
    }
    if (now.slice !== null) {
      if (await isStored(now)) await forgetSlice(parts, now, slice, leads);
      return;
    }
    // Of somebody who was killed behind the last slice.
    if ((await unseen.isUnended(now.siteId)) && (await unseen.underWay()).size === 0) await unseen.end();
    await unseen.tidy(now.siteId);
    await unseen.done(now.siteId, now.begunMs);
    if (now.forgotten > 0) logger.info({ site: now.siteId, persons: now.forgotten }, 'persons forgotten');
    sweep = null;
  }

  return {
    /** Does the next step of what is due, if anything is. After a failure it all begins anew. */
    async step(leads: () => boolean): Promise<void> {
      try {
        await step(leads);
      } catch (error) {
        if (sweep !== null) failedAtMs.set(sweep.siteId, nowMs());
        const site = sweep?.siteId;
        sweep = null;
        areAny = true;
        lookAtMs = nowMs() + LOOK_MS;
        logger.warn({ err: error, site }, 'persons not forgotten, trying again');
      }
    },
    /** To be called where another one leads. */
    reset(): void {
      sweep = null;
    },
  };
}

async function look({ unseen }: ErasureParts, sweep: Sweep, limit: number): Promise<PersonGroup[]> {
  const { siteId, begunMs, days, after } = sweep;
  const before = { beforeMs: begunMs - days * DAY_MS, splitMs: begunMs - CORRECTED_MS };
  return wholeGroups(await unseen.unseen(siteId, before, after, limit), limit);
}

/** Forgets those of a slice of whom nothing came since it was taken. */
async function forgetSlice(parts: ErasureParts, sweep: Sweep, limit: number, leads: () => boolean): Promise<void> {
  const { session, erasures, unseen, nowMs } = parts;
  const { siteId, begunMs, days } = sweep;
  const { found, links } = sweep.slice ?? { found: [], links: [] };
  const seenBeforeMs = begunMs - days * DAY_MS;
  sweep.slice = null;
  const producer = await openFencedProducer(session.kafka, session.groupOf('erasure.run'));
  try {
    const log: ErasureLog = { now: await erasures.readNow(), producer, codec: erasures.codec };
    // What is noted of whose rows are deleted is theirs until they are done.
    if ([...log.now.values()].some((one) => isOpen(one) && (one.site || one.batch !== ''))) return;
    const untilMs = (await parts.index.nowMs()) + DECIDED_MS;
    await unseen.note(siteId, begunMs - CLOCKS_MS);
    await unseen.sync();
    const groups = stillUnseen(found, await look(parts, sweep, limit));
    const work: Work = { parts, log, batch: () => [], leads };
    const erased = await forgetInIndex(work, siteId, groups, links, untilMs);
    const erasedMs = nowMs();
    if (erased.length > 0 && !(await forgetRows(work, siteId, erased, { seenBeforeMs, nowMs: erasedMs }))) return;
    if (!leads()) return;
    sweep.restUntilMs = restUntil(erasedMs, nowMs());
    sweep.forgotten += erased.reduce((sum, { persons }) => sum + persons.length, 0);
    sweep.after = found.at(-1)?.leader ?? sweep.after;
  } finally {
    await producer.close();
  }
}

/** Forgets them in Redis and identity.links; resolves to those who were: the others have become one with somebody meanwhile. */
async function forgetInIndex(
  { parts: { index }, log, leads }: Work,
  siteId: string,
  groups: readonly PersonGroup[],
  links: readonly FoundLink[],
  untilMs: number,
): Promise<PersonGroup[]> {
  const linksOf = Map.groupBy(links, ({ link }) => link.person_id);
  const forgotten: PersonGroup[] = [];
  for (let at = 0; at < groups.length && leads(); at += TOGETHER) {
    const outcomes = await Promise.all(
      groups.slice(at, at + TOGETHER).map(async (group) => {
        const own = group.persons.flatMap((person) => linksOf.get(person) ?? []);
        const nodes = own.flatMap(({ link }) => (isOfNode(link) ? [link.target] : []));
        const erased = await index.erase(siteId, group.persons, [...new Set(nodes)], untilMs);
        if (!erased.ok && erased.others.length === 0) throw new DecidedTooLateError();
        return erased.ok ? [{ group, own }] : [];
      }),
    );
    failpoint('erasure.step');
    const erased = outcomes.flat();
    if (erased.length > 0) await log.producer.appendAll(tombstonesOf(erased.flatMap(({ own }) => own)));
    failpoint('erasure.step');
    forgotten.push(...erased.map(({ group }) => group));
  }
  return forgotten;
}

/** False where another one leads. */
async function forgetRows(
  work: Work,
  siteId: string,
  groups: readonly PersonGroup[],
  times: { seenBeforeMs: number; nowMs: number },
): Promise<boolean> {
  const { unseen, nowMs } = work.parts;
  // Of somebody who was killed: nothing is begun beside it.
  if (!(await areDeleted(work, work.parts.unseen.underWay, waitForRows))) return false;
  if (!(await deleteOf(work, 'besides', siteId, groups, times))) return false;
  const waitMs = times.nowMs + WRITTEN_MS - nowMs();
  if (waitMs > 0) await sleep(waitMs);
  const known = await knownOf(work.parts, siteId, groups);
  const gone = groups.filter(({ persons }) => !persons.some((person) => known.has(person)));
  if (gone.length > 0) {
    if (!(await deleteOf(work, 'links', siteId, gone, times))) return false;
    if (!(await deleteOf(work, 'seen', siteId, gone, times))) return false;
  }
  if (!work.leads()) return false;
  await unseen.end();
  return true;
}

/** Deletes rows, and looks whether they are gone; false where another one leads. */
async function deleteOf(
  work: Work,
  what: 'besides' | 'links' | 'seen',
  siteId: string,
  groups: readonly PersonGroup[],
  times: { seenBeforeMs: number; nowMs: number },
): Promise<boolean> {
  if (!work.leads()) return false;
  const hasLeft = await work.parts.unseen.begin(what, siteId, groups, times);
  if (!(await areDeleted(work, work.parts.unseen.underWay, waitForRows))) return false;
  if (await hasLeft()) throw new RowsLeftError();
  failpoint('erasure.step');
  return true;
}

/** A mutation that fails holds up all sites: it is told, and this one comes behind the others. */
async function waitForRows(fails: boolean): Promise<void> {
  if (fails) throw new MutationFailsError();
  await sleep(POLL_MS);
}

/** Of whom something is known in Redis: they have returned, or Redis has lost that they were forgotten. Then their links are to stay. */
async function knownOf(
  { persons: store }: ErasureParts,
  siteId: string,
  groups: readonly PersonGroup[],
): Promise<Set<string>> {
  const persons = groups.flatMap((group) => group.persons);
  const known = new Set<string>();
  for (let at = 0; at < persons.length; at += TOGETHER) {
    for (const { person } of await store.groupsOf(siteId, persons.slice(at, at + TOGETHER))) known.add(person);
  }
  return known;
}
