import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import { matchesAddress, type PageAddress } from '#pipelines/settings/url_pattern.ts';
import type { ReadyItem } from './site_engage.ts';

/** Items of one answer. */
const ITEMS_MAX = 5;
const DAY_MS = 86_400_000;

/** Who looks at which page. */
export interface Look {
  page: PageAddress;
  /** Null: not said. */
  device: string | null;
  locale: string | null;
  country: string | null;
  /** What the visitor agreed to; what was not said was not agreed to. */
  consent: { analytics: boolean; ads: boolean };
  /** The site keeps nothing of who its visitors are: only what needs no memory of them can be shown. */
  anonymous: boolean;
  nowMs: number;
}

/** What of a site's items fits this page and visitor, before anything that is remembered of them. */
export function fitting(items: readonly ReadyItem[], look: Look): ReadyItem[] {
  return items.filter(
    (item) =>
      isInTime(item, look) &&
      fitsPage(item, look) &&
      fitsVisitor(item, look) &&
      (!look.anonymous || needsNoMemory(item)),
  );
}

/**
 * What is shown of the items that fit: those that the memories of browser and server allow, the stricter of both, at most
 * ITEMS_MAX.
 *
 * @param server What the server remembers; null where that is not known: then the browser's memory decides, and what asks
 *   for what the visitor did is not shown.
 */
export function decide(
  items: readonly ReadyItem[],
  look: Look,
  browser: ReadonlyMap<string, SeenItem>,
  server: EngageMemory | null,
): ReadyItem[] {
  const seenOf = (name: string): SeenItem | undefined => stricter(browser.get(name), server?.seen.get(name));
  const lastAnyMs = Math.max(0, ...lastTimes(browser), ...lastTimes(server?.seen ?? new Map()));
  const shown: ReadyItem[] = [];
  for (const item of items) {
    // What is shown by this very answer counts for what waits after anything.
    if (!isDue(item, seenOf(item.name), shown.length > 0 ? look.nowMs : lastAnyMs, look.nowMs)) continue;
    if (!isInAudience(item, server, look.nowMs)) continue;
    shown.push(item);
    if (shown.length === ITEMS_MAX) break;
  }
  return shown;
}

/**
 * Of the items that a page still has open from the one before, those that are not for it: their definition is gone or
 * disabled, or names other pages. What the visitor was shown in its time may be answered after that.
 *
 * @param items Those that are enabled.
 */
export function overOn(open: readonly string[], items: readonly ReadyItem[], look: Look): string[] {
  return open.filter((name) => {
    const item = items.find((one) => one.name === name);
    return item === undefined || !fitsPage(item, look);
  });
}

function isInTime({ definition: { starts_at, ends_at } }: ReadyItem, { nowMs }: Look): boolean {
  return (starts_at === null || starts_at <= nowMs) && (ends_at === null || nowMs < ends_at);
}

function fitsPage({ definition: { targeting } }: ReadyItem, { page }: Look): boolean {
  const { url_pattern: patterns, url_exclude: excluded } = targeting;
  if (patterns.length > 0 && !patterns.some((pattern) => matchesAddress(pattern, page))) return false;
  return !excluded.some((pattern) => matchesAddress(pattern, page));
}

function fitsVisitor({ definition: { targeting, consent_needed } }: ReadyItem, look: Look): boolean {
  if (consent_needed !== 'none' && !look.consent[consent_needed]) return false;
  if (!isAmong(targeting.device, look.device) || !isAmong(targeting.country, look.country)) return false;
  if (targeting.locale.length === 0) return true;
  const { locale } = look;
  return locale !== null && targeting.locale.some((wanted) => speaks(locale, wanted));
}

const isAmong = (wanted: readonly string[], value: string | null): boolean =>
  wanted.length === 0 || (value !== null && wanted.includes(value));

/** A language alone stands for all its regions. */
function speaks(locale: string, wanted: string): boolean {
  const [own, other] = [locale.toLowerCase(), wanted.toLowerCase()];
  return own === other || own.startsWith(`${other}-`);
}

function needsNoMemory({ definition: { frequency, targeting, share_percent } }: ReadyItem): boolean {
  const { max_times, every_days, wait_any_days } = frequency;
  if (max_times !== null || every_days > 0 || wait_any_days > 0) return false;
  return targeting.audience.length === 0 && share_percent === 100;
}

/**
 * The items whose share somebody is in. They stay in or out of it, on every edge; each item draws anew.
 *
 * @param shareId What stands for them: the person where one is known, so that two browsers of theirs draw the same.
 */
export function inShare(items: readonly ReadyItem[], shareId: string, secret: Buffer): ReadyItem[] {
  return items.filter((item) => isInShare(item, shareId, secret));
}

function isInShare({ name, definition: { share_percent } }: ReadyItem, shareId: string, secret: Buffer): boolean {
  if (share_percent >= 100) return true;
  const drawn = hmacSha256(secret, `share\0${name}\0${shareId}`).readUInt32BE(0) / 2 ** 32;
  return drawn * 100 < share_percent;
}

function isDue(
  { definition: { frequency } }: ReadyItem,
  seen: SeenItem | undefined,
  lastAnyMs: number,
  nowMs: number,
): boolean {
  const { max_times, every_days, after_done, wait_any_days } = frequency;
  if (lastAnyMs > 0 && nowMs - lastAnyMs < wait_any_days * DAY_MS) return false;
  if (seen === undefined) return true;
  if (seen.doneMs !== null && (after_done === 'never' || nowMs - seen.doneMs < after_done * DAY_MS)) return false;
  if (max_times !== null && seen.times >= max_times) return false;
  return seen.times === 0 || nowMs - seen.lastMs >= every_days * DAY_MS;
}

function isInAudience({ definition }: ReadyItem, server: EngageMemory | null, nowMs: number): boolean {
  return definition.targeting.audience.every(({ event, did, times, within_days }) => {
    if (server === null) return false;
    const done = server.events.get(event);
    const isDone = done !== undefined && done.times >= times && nowMs - done.lastMs < within_days * DAY_MS;
    return isDone === did;
  });
}

function lastTimes(seen: ReadonlyMap<string, SeenItem>): number[] {
  return [...seen.values()].map(({ lastMs }) => lastMs);
}

/** What is known of one person and one item; times in milliseconds since 1970 UTC. */
export interface SeenItem {
  times: number;
  /** When it was shown last. */
  lastMs: number;
  /** When it was answered, clicked or submitted last; null: not yet. */
  doneMs: number | null;
}

/** How often a person did something, and when last. */
export interface DoneEvent {
  times: number;
  lastMs: number;
}

/** What is remembered of one person. */
export interface EngageMemory {
  /** Who leads all the ids that are known to be one person. */
  personId: string;
  seen: ReadonlyMap<string, SeenItem>;
  /** By name: only events that a definition of the site asks for. */
  events: ReadonlyMap<string, DoneEvent>;
}

/** Of two records of the same shows, as a browser and the server keep them, the stricter one. */
function stricter(a: SeenItem | undefined, b: SeenItem | undefined): SeenItem | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    times: Math.max(a.times, b.times),
    lastMs: Math.max(a.lastMs, b.lastMs),
    doneMs: a.doneMs === null || b.doneMs === null ? (a.doneMs ?? b.doneMs) : Math.max(a.doneMs, b.doneMs),
  };
}

/** What one person did under several ids. */
export function together(a: SeenItem | undefined, b: SeenItem): SeenItem {
  if (a === undefined) return b;
  return { ...(stricter(a, b) as SeenItem), times: a.times + b.times };
}
