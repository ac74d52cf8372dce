// Whose events are dropped as they asked to be erased: by keyed hashes, since the ids themselves must not be kept.

import { basePersonId, JOINING, nodeOf } from '#pipelines/identity/identity.ts';
import { memoize } from '#pipelines/stage.ts';
import { decodeIdentityPart, type EncodedEvent, type IdentityPart, readTimestamp } from '#schemas/event_batch.ts';
import type { Erasure } from '#schemas/records.ts';

/**
 * How far clocks of edges may be ahead of the one an erasure is asked by: what arrived before it may say that it came so much later.
 */
export const CLOCK_DIFFERENCE_MS = 10_000;

/** Under which stages count what they dropped by it. */
export const ERASED = 'erased';

/** What of an event says whose it is. */
type SuppressedEvent = Pick<EncodedEvent, 'siteId' | 'distinctId' | 'receivedAtMs' | 'eventBytes'>;

/** By keyed hash when erasures that say it were asked for, in milliseconds since 1970 UTC. */
interface SiteErasures {
  persons: Map<string, number[]>;
  identifiers: Map<string, number[]>;
  /** Events that happened and arrived later are nobody's by what they say of a person. */
  newestMs: number;
}

/** What is held of a site beside what an erasure of it says. */
const pairsOf = (site: SiteErasures, erasure: Pick<Erasure, 'persons' | 'identifiers'>) =>
  [
    [site.persons, erasure.persons],
    [site.identifiers, erasure.identifiers],
  ] as const;

/** By which a person, as derived from a distinct id, is known to have been erased. */
export const erasedPerson = (secret: Buffer, siteId: string, personId: string): string =>
  nodeOf(secret, siteId, 'erased_person', personId);

/** By which an identifier, given as the node that it joins people by, is known to be of somebody who was erased. */
export const erasedIdentifier = (secret: Buffer, siteId: string, node: string): string =>
  nodeOf(secret, siteId, 'erased_identifier', node);

export type SuppressionList = ReturnType<typeof createSuppressionList>;

/**
 * Whose events are dropped. A distinct id of an erased person is nobody's any more for as long as the erasure is kept, whenever
 * an event of it arrives; an e-mail address, phone number or customer number is somebody's again in what happens after the erasure
 * was asked for. An empty list costs an event one comparison, another one digest for each distinct id of a batch.
 *
 * @param secret By which identifiers are joined.
 */
export function createSuppressionList(secret: Buffer) {
  const erasures = new Map<string, Pick<Erasure, 'site_id' | 'persons' | 'identifiers' | 'asked_at'>>();
  const sites = new Map<string, SiteErasures>();
  /** Sites that are erased as a whole, with the erasures that say so. */
  const wholeSites = new Map<string, Set<string>>();

  function removeWhole(erasureId: string): void {
    for (const [siteId, ids] of wholeSites) if (ids.delete(erasureId) && ids.size === 0) wholeSites.delete(siteId);
  }

  function remove(erasureId: string): void {
    const erasure = erasures.get(erasureId);
    const site = erasure && sites.get(erasure.site_id);
    if (erasure === undefined || site === undefined) return;
    erasures.delete(erasureId);
    for (const [held, hashes] of pairsOf(site, erasure)) {
      for (const hash of hashes) {
        const left = without(held.get(hash) ?? [], erasure.asked_at);
        if (left.length === 0) held.delete(hash);
        else held.set(hash, left);
      }
    }
    if (site.persons.size + site.identifiers.size === 0) sites.delete(erasure.site_id);
  }

  function add(erasure: Erasure): void {
    const { erasure_id, site_id, persons, identifiers, asked_at } = erasure;
    if (persons.length + identifiers.length === 0) return;
    erasures.set(erasure_id, { site_id, persons, identifiers, asked_at });
    const site = sites.get(site_id) ?? { persons: new Map(), identifiers: new Map(), newestMs: 0 };
    sites.set(site_id, site);
    site.newestMs = Math.max(site.newestMs, asked_at);
    for (const [held, hashes] of pairsOf(site, erasure)) {
      for (const hash of hashes) held.set(hash, [...(held.get(hash) ?? []), asked_at]);
    }
  }

  /** Whether an event that happened before it was asked for says an identifier of the person, or another id of theirs. */
  function saysErased(site: SiteErasures, { siteId, receivedAtMs, eventBytes }: SuppressedEvent): boolean {
    const atMs = Math.min(receivedAtMs, timestampOf(eventBytes) ?? receivedAtMs);
    const part = atMs > site.newestMs + CLOCK_DIFFERENCE_MS ? null : identityPartOf(eventBytes);
    if (part === null) return false;
    const { identifiers, previous_distinct_id: previousId } = part;
    const isBefore = (untilMs: readonly number[] | undefined): boolean =>
      untilMs !== undefined && atMs <= Math.max(...untilMs) + CLOCK_DIFFERENCE_MS;
    if (previousId !== null) {
      const person = erasedPerson(secret, siteId, basePersonId(siteId, previousId));
      if (isBefore(site.persons.get(person))) return true;
    }
    if (identifiers === null || site.identifiers.size === 0) return false;
    return JOINING.some((kind) => {
      const hashed = identifiers[kind];
      if (hashed === null) return false;
      return isBefore(site.identifiers.get(erasedIdentifier(secret, siteId, nodeOf(secret, siteId, kind, hashed))));
    });
  }

  const isErasedSite = (siteId: string): boolean => wholeSites.has(siteId);

  function isErasedPerson(siteId: string, personId: string): boolean {
    if (isErasedSite(siteId)) return true;
    return sites.get(siteId)?.persons.has(erasedPerson(secret, siteId, personId)) === true;
  }

  return {
    /** Takes what is known of an erasure now; null forgets it. Those that say the same of one person do not disturb each other. */
    apply(erasureId: string, erasure: Erasure | null): void {
      remove(erasureId);
      removeWhole(erasureId);
      if (erasure === null) return;
      if (!erasure.site) add(erasure);
      else if (erasure.site.is_suppressed) {
        wholeSites.set(erasure.site_id, (wholeSites.get(erasure.site_id) ?? new Set()).add(erasureId));
      }
    },
    isEmpty: (): boolean => sites.size + wholeSites.size === 0,
    /** Whether a site is erased as a whole: whatever comes of it is dropped. */
    isErasedSite,
    /** Whether a person, as derived from a distinct id, was erased. */
    isErasedPerson,
    /** The items whose events are kept, in their order; the same array where all are. */
    kept<T>(items: readonly T[], eventOf: (item: T) => SuppressedEvent): readonly T[] {
      if (sites.size + wholeSites.size === 0) return items;
      const isOfErased = memoize((siteId: string) =>
        memoize((distinctId: string) => isErasedPerson(siteId, basePersonId(siteId, distinctId))),
      );
      const kept = items.filter((item) => {
        const event = eventOf(item);
        if (isErasedSite(event.siteId)) return false;
        const site = sites.get(event.siteId);
        if (site === undefined) return true;
        if (isOfErased(event.siteId)(event.distinctId)) return false;
        return !saysErased(site, event);
      });
      return kept.length === items.length ? items : kept;
    },
  };
}

function without(times: readonly number[], timeMs: number): number[] {
  const at = times.indexOf(timeMs);
  return at < 0 ? [...times] : times.toSpliced(at, 1);
}

/** Null where the event is damaged. */
function timestampOf(eventBytes: Buffer): number | null {
  try {
    return readTimestamp(eventBytes);
  } catch {
    return null;
  }
}

/** Null where the event is damaged, which is found out where it is taken. */
function identityPartOf(eventBytes: Buffer): IdentityPart | null {
  try {
    return decodeIdentityPart(eventBytes);
  } catch {
    return null;
  }
}
