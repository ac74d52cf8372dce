// An erasure from request to receipt: its phases, and for how long what of it is kept.

import type { Erasure, ErasurePhase } from '#schemas/records.ts';
import type { PersonSubject } from './subject.ts';
import { CLOCK_DIFFERENCE_MS, erasedIdentifier, erasedPerson } from './suppression.ts';

const DAY_MS = 86_400_000;

/**
 * For how long events of an erased person are dropped after the erasure. Longer than anything of them can be read again: a dead letter
 * stands for 37 days, and what is sent in again of it for 16 on the topics of events.
 */
export const SUPPRESSED_DAYS = 60;

/** For how long the receipt is kept: as the audit. */
export const RECEIPT_DAYS = 400;

/** How long it takes at most until every process has read what was written to a topic of settings. */
export const KNOWN_EVERYWHERE_MS = 10_000;

/** Under which kind what is to be erased is sealed. */
export const SEALED_AS = 'person.erasure';

/** Erasures that are carried out together: each statement that deletes rows rewrites whole parts of a table. */
export const BATCH_MAX = 500;

/** Erasures and receipts at the most, as every process holds them; those of one site leave others room for theirs. */
const ERASURES_MAX = 100_000;
const ERASURES_OF_SITE_MAX = 25_000;

/** Whether there is room for one more of a site. */
export function isRoomFor(siteId: string, all: ReadonlyMap<string, Erasure>): boolean {
  if (all.size < ERASURES_OF_SITE_MAX) return true;
  let ofSite = 0;
  for (const { site_id } of all.values()) if (site_id === siteId) ofSite += 1;
  return all.size < ERASURES_MAX && ofSite < ERASURES_OF_SITE_MAX;
}

/** What an erasure is made of when it is asked for. */
interface NewErasure {
  erasure_id: string;
  site_id: string;
  asked_by: string;
  destinations: string[];
  sealed: string;
}

/** An erasure that suppresses the events of a person from now on, and waits for its turn. */
export function newErasure(asked: NewErasure, secret: Buffer, subject: PersonSubject, nowMs: number): Erasure {
  return {
    ...asked,
    ...{ phase: 'suppressing', detail: '', batch: '', round: 1, asked_at: nowMs, erased: [] },
    ...{ updated_at: nowMs, done_at: null },
    ...suppressing(secret, asked.site_id, subject, nowMs),
  };
}

/** What the erasure of a site is made of when it is asked for. */
interface NewSiteErasure extends Omit<NewErasure, 'sealed'> {
  account_id: string;
}

/** An erasure of a whole site, whose events are dropped from now on. */
export function newSiteErasure({ account_id, ...asked }: NewSiteErasure, nowMs: number): Erasure {
  return {
    ...asked,
    ...{ phase: 'suppressing', detail: '', batch: '', round: 1, asked_at: nowMs, erased: [] },
    ...{ persons: [], identifiers: [], suppressed_at: nowMs, sealed: null, updated_at: nowMs, done_at: null },
    site: { account_id, is_suppressed: true },
  };
}

/** What suppresses the events of a person. */
export function suppressing(
  secret: Buffer,
  siteId: string,
  { persons, identifiers }: PersonSubject,
  nowMs: number,
): Pick<Erasure, 'persons' | 'identifiers' | 'suppressed_at'> {
  return {
    persons: persons.map((person) => erasedPerson(secret, siteId, person)),
    identifiers: [...new Set(identifiers.map(({ node }) => erasedIdentifier(secret, siteId, node)))],
    suppressed_at: nowMs,
  };
}

/** What an erasure says whose seal cannot be opened, as its key is gone from the ring: nobody can carry it out. */
export const UNOPENED = 'secret_key_unknown';

export const isOpen = ({ phase, detail }: Erasure): boolean => phase !== 'done' && detail !== UNOPENED;

/**
 * Whether an erasure that is under way does all that is asked for at some moment: it takes nobody in any more whom it does not know
 * yet, and what only says an identifier it leaves where that happened after it was asked for.
 */
export function standsFor(
  erasure: Erasure,
  asked: Pick<Erasure, 'site_id' | 'persons' | 'identifiers'>,
  nowMs: number,
): boolean {
  if (erasure.site || erasure.site_id !== asked.site_id || !isOpen(erasure)) return false;
  const known = new Set([...erasure.persons, ...erasure.identifiers]);
  const isOfNow = asked.identifiers.length === 0 || nowMs <= erasure.asked_at + CLOCK_DIFFERENCE_MS;
  return isOfNow && [...asked.persons, ...asked.identifiers].every((hash) => known.has(hash));
}

const REST_MS_MAX = 6 * 3_600_000;

/**
 * Until when no batch begins after one whose rows were deleted: for as long as that took, so that a large table is not rewritten all
 * the time, and what is requested meanwhile goes together.
 */
export const restUntil = (beganMs: number, endedMs: number): number =>
  endedMs + Math.min(endedMs - beganMs, REST_MS_MAX);

/**
 * The next batch of persons: one that was begun goes on; else those that wait, the oldest first. Empty where there is nothing to do.
 *
 * @param isResting Whether none is to begin now.
 */
export function nextBatch(all: Iterable<Erasure>, isResting = false): Erasure[] {
  const open = [...all]
    .filter((one) => isOpen(one) && !one.site && !isToBeFound(one))
    .toSorted((a, b) => a.asked_at - b.asked_at);
  const begun = open.find(({ batch }) => batch !== '');
  if (begun !== undefined) return open.filter(({ batch }) => batch === begun.batch);
  if (isResting) return [];
  const [first] = open;
  return open.slice(0, BATCH_MAX).map((erasure) => ({ ...erasure, batch: first?.erasure_id ?? '' }));
}

/** A batch of persons that was begun, as it is by now. */
export const batchOf = (all: Iterable<Erasure>, id: string): Erasure[] =>
  [...all].filter((one) => one.batch === id && isOpen(one));

const PHASES: readonly ErasurePhase[] = ['suppressing', 'draining', 'deleting'];

/** Where a batch goes on: one of it that has grown goes back, and the others with it. Undefined where it is empty. */
export const phaseOf = (batch: readonly Erasure[]): ErasurePhase | undefined =>
  PHASES.find((phase) => batch.some((one) => one.phase === phase));

export function inPhase(erasure: Erasure, phase: ErasurePhase, detail: string, nowMs: number): Erasure {
  return { ...erasure, phase, detail, updated_at: nowMs };
}

/** Adds to the receipt what was found in a place; a part that is counted again after it was begun to be deleted counts once. */
export function withErased(erasure: Erasure, found: readonly { place: string; count: number }[]): Erasure {
  const counts = new Map(erasure.erased.map(({ place, count }) => [place, count]));
  for (const { place, count } of found) counts.set(place, Math.max(counts.get(place) ?? 0, count));
  return { ...erasure, erased: [...counts].map(([place, count]) => ({ place, count })) };
}

/** The receipt: nothing is kept of whom it was, but what suppresses their events. */
export function finished(erasure: Erasure, nowMs: number): Erasure {
  return { ...inPhase(erasure, 'done', '', nowMs), sealed: null, done_at: nowMs };
}

/** What an erasure says first that is carried out once more: who it is about has to be found by the keyed hashes that were kept. */
const RESTORED = 'restored';

/** An erasure that is looked for again, of which nothing is sealed. */
export const isToBeFound = ({ phase, detail, sealed, site }: Erasure): boolean =>
  phase === 'suppressing' && detail === RESTORED && sealed === null && !site;

/**
 * An erasure that was done since a moment, to be carried out once more, as rows of before it were brought back; null where it was not, or
 * where nothing is known any more of whom it was about.
 */
export function erasedAnew(erasure: Erasure, sinceMs: number, nowMs: number): Erasure | null {
  const { detail, sealed, updated_at, persons, identifiers, site, round } = erasure;
  // One of which nothing is sealed, and that was set aside, was to be looked for already.
  const isLost = detail === UNOPENED && sealed === null && !site;
  const done_at = isLost ? updated_at : erasure.done_at;
  if (done_at === null || done_at < sinceMs) return null;
  if (!site && persons.length + identifiers.length === 0) return null;
  const begun = {
    ...inPhase(erasure, 'suppressing', site ? '' : RESTORED, nowMs),
    batch: '',
    round: round + 1,
    done_at: null,
    is_again: true,
  };
  return site ? { ...begun, site: { ...site, is_suppressed: true } } : begun;
}

/** What is to be kept of an erasure that is over: it as it is, without what suppresses events, or null for nothing of it. */
export function keptOf(erasure: Erasure, nowMs: number): Erasure | null {
  const { detail, persons, identifiers, site } = erasure;
  const endedAt = detail === UNOPENED ? erasure.updated_at : erasure.done_at;
  if (endedAt === null) return erasure;
  if (nowMs - endedAt > RECEIPT_DAYS * DAY_MS) return null;
  const suppresses = persons.length + identifiers.length > 0 || site?.is_suppressed === true;
  if (!suppresses || nowMs - endedAt <= SUPPRESSED_DAYS * DAY_MS) return erasure;
  const over = { persons: [], identifiers: [], updated_at: nowMs };
  return { ...erasure, ...over, ...(site ? { site: { ...site, is_suppressed: false } } : {}) };
}
