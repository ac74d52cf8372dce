// Persons of whom nothing came for as long as their site keeps persons: when they are looked for, and who is forgotten.

import type { Site } from '#schemas/setting.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** A dead letter stands for 37 days, and what is sent in again of it for 16 on its topic: an event may be stored so late. */
const STORED_LATE_DAYS = 60;

/**
 * When who was seen was noted last may be so long ago that rows which said it are gone: whom they were of counts from now on. Also
 * of a site that keeps its events for longer: rows of a month that are too old go a week late, but all at once.
 */
const NOTED_DAYS_MAX = 7;

/** A person as links say, and when that was last said. */
export interface LinkedPerson {
  person: string;
  /** Whom the person is part of. */
  leader: string;
  version: number;
}

/** All who are one. */
export interface PersonGroup {
  leader: string;
  persons: string[];
  /** Of the newest link among theirs. */
  version: number;
}

/** Up to when those of each site were looked for, in milliseconds since 1970 UTC; near 0 where that was never done to its end. */
export type SweepMarks = ReadonlyMap<string, number>;

type KeptPersons = Pick<Site, 'site_id' | 'person_days' | 'event_days'>;

/** Whether a site forgets persons; else it keeps them until they are erased. */
export const keepsPersonsForDays = ({ person_days }: Pick<Site, 'person_days'>): boolean =>
  typeof person_days === 'number';

/** A site whose persons are to be looked through. */
export interface DueSweep {
  siteId: string;
  days: number;
  /** Of whom something was stored since is noted; null: what was noted before holds no more, and all of them is looked through. */
  sinceMs: number | null;
  /** Up to when who was seen was noted to its end; 0: never. */
  notedMs: number;
}

/**
 * The site whose turn it is: each once after an hour of the day in UTC, and at once where that was not done to its end yet. Of
 * several the one that waits longest. Null where none is due.
 *
 * @param eventDays For how long a site that says nothing keeps events; 0: for ever.
 */
export function dueSweep(
  sites: readonly KeptPersons[],
  marks: SweepMarks,
  nowMs: number,
  hour: number,
  eventDays: number,
): DueSweep | null {
  const hourMs = nowMs - (nowMs % DAY_MS) + hour * HOUR_MS;
  const lastMs = hourMs > nowMs ? hourMs - DAY_MS : hourMs;
  // One of later was made by a clock that was wrong, and says nothing.
  const markOf = ({ site_id }: KeptPersons): number => {
    const markMs = marks.get(site_id) ?? 0;
    return markMs > nowMs + HOUR_MS ? 0 : markMs;
  };
  const [site] = sites
    .filter((one) => keepsPersonsForDays(one) && markOf(one) < lastMs)
    .toSorted((a, b) => markOf(a) - markOf(b));
  if (site === undefined) return null;
  const markMs = markOf(site);
  const keptDays = site.event_days ?? eventDays;
  const knownDays = keptDays === 0 ? NOTED_DAYS_MAX : Math.min(NOTED_DAYS_MAX, keptDays);
  const isKnown = markMs > nowMs - knownDays * DAY_MS;
  const sinceMs = isKnown ? markMs - STORED_LATE_DAYS * DAY_MS : null;
  return { siteId: site.site_id, days: site.person_days ?? 0, sinceMs, notedMs: isKnown ? markMs : 0 };
}

/** Sites of which is noted who was seen, and that keep persons until these are erased: nothing of the kind is kept of them. */
export function lapsedSites(sites: readonly KeptPersons[], marks: SweepMarks): string[] {
  const kept = new Set(sites.filter(keepsPersonsForDays).map(({ site_id }) => site_id));
  return [...marks.keys()].filter((siteId) => !kept.has(siteId));
}

/**
 * Persons in the order of their leaders, as groups. Where there are as many as were asked for, the last group may go on behind them:
 * it is left out, unless it is the only one.
 */
export function wholeGroups(persons: readonly LinkedPerson[], askedFor: number): PersonGroup[] {
  const groups = [...Map.groupBy(persons, ({ leader }) => leader)].map(([leader, ones]) => ({
    leader,
    persons: ones.map(({ person }) => person),
    version: Math.max(...ones.map(({ version }) => version)),
  }));
  return persons.length < askedFor || groups.length === 1 ? groups : groups.slice(0, -1);
}

/** Those who are the same when they are looked for again, after what took a while: of the others something came. */
export function stillUnseen(groups: readonly PersonGroup[], again: readonly PersonGroup[]): PersonGroup[] {
  const sign = ({ leader, persons, version }: PersonGroup): string => JSON.stringify([leader, persons, version]);
  const signs = new Set(again.map(sign));
  return groups.filter((group) => signs.has(sign(group)));
}
