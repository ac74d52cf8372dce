// Health of a site's tag: what it reports, and what is usual.

import { detached } from '#pipelines/privacy/normalise_text.ts';

/** Days for which events are counted by the hour: what is usual is their median, so that a fall shows for two weeks. */
export const DAYS_KEPT = 28;
const DAY_HOURS = 24;
/** Earlier days that have to be known before anything is called usual. */
const DAYS_MIN = 3;
/** Below a fifth of a usual day a site is quiet; of fewer events chance would decide. */
const QUIET_DAY = { share: 0.2, usualMin: 20 };
/** An hour says so sooner, of sites that send enough in one. */
const QUIET_HOUR = { share: 0.1, usualMin: 50 };

/** `never`: no event yet. `new`: known for too short a time to say what is usual. */
type SiteState = 'never' | 'new' | 'receiving' | 'quiet';

/** Events in the time up to now, and in the same time of the day on a usual day; null while that is not known. */
interface Volume {
  now: number;
  usual: number | null;
}

interface SiteVolume {
  state: SiteState;
  lastHour: Volume;
  lastDay: Volume;
}

/**
 * How many events a site's browsers send, against what is usual at this time of the day.
 *
 * @param hours events by hour since 1970 UTC.
 * @param nowMs the clock, milliseconds since 1970 UTC.
 */
export function siteVolume(hours: ReadonlyMap<number, number>, nowMs: number): SiteVolume {
  const lastHour = volume(hours, nowMs, 1);
  const lastDay = volume(hours, nowMs, DAY_HOURS);
  return { state: stateOf(hours, lastHour, lastDay), lastHour, lastDay };
}

function stateOf(hours: ReadonlyMap<number, number>, lastHour: Volume, lastDay: Volume): SiteState {
  if (hours.size === 0) return 'never';
  if (lastDay.usual === null) return 'new';
  return isQuiet(lastDay, QUIET_DAY) || isQuiet(lastHour, QUIET_HOUR) ? 'quiet' : 'receiving';
}

function isQuiet({ now, usual }: Volume, { share, usualMin }: typeof QUIET_DAY): boolean {
  return usual !== null && usual >= usualMin && now < usual * share;
}

function volume(hours: ReadonlyMap<number, number>, nowMs: number, length: number): Volume {
  const hour = Math.floor(nowMs / HOUR_MS);
  const passed = nowMs / HOUR_MS - hour;
  const knownFrom = hours.size === 0 ? hour : Math.min(...hours.keys());
  const earlier: number[] = [];
  for (let day = 1; day < DAYS_KEPT; day += 1) {
    const end = hour - day * DAY_HOURS;
    if (end - length < knownFrom) break;
    // Of the hour that is now under way only the part that has passed by now.
    earlier.push(before(hours, end, length, passed) + (hours.get(end) ?? 0) * passed);
  }
  const now = before(hours, hour, length, passed) + (hours.get(hour) ?? 0);
  return { now: Math.round(now), usual: earlier.length < DAYS_MIN ? null : Math.round(median(earlier)) };
}

/** Events of the hours before an hour: whole ones, and of the first the part that is not too long ago. */
function before(hours: ReadonlyMap<number, number>, hour: number, length: number, passed: number): number {
  let sum = (hours.get(hour - length) ?? 0) * (1 - passed);
  for (let back = 1; back < length; back += 1) sum += hours.get(hour - back) ?? 0;
  return sum;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

/** What is remembered of an event definition's firing. */
export interface FiredRecord {
  /** How often it fired since it is watched. */
  count: number;
  lastMs: number;
  /** Mean time between two of its recent firings. */
  gapMs: number;
}

/**
 * `firing`: as usual, or too seldom so far to know what is usual. `quiet`: not for longer than usual. `stopped`: so much
 * longer that no night or weekend explains it.
 */
type DefinitionState = 'firing' | 'quiet' | 'stopped' | 'never_fired';

/** Firings after which a gap between them is known. */
const FIRED_MIN = 5;
const QUIET_GAPS = 3;
const STOPPED_GAPS = 10;

/** How an event definition does. The clock in milliseconds since 1970 UTC. */
export function definitionState(fired: FiredRecord | undefined, nowMs: number): DefinitionState {
  if (fired === undefined) return 'never_fired';
  if (fired.count < FIRED_MIN) return 'firing';
  const silentMs = nowMs - fired.lastMs;
  if (silentMs > Math.max(STOPPED_GAPS * fired.gapMs, DAY_MS)) return 'stopped';
  return silentMs > Math.max(QUIET_GAPS * fired.gapMs, HOUR_MS) ? 'quiet' : 'firing';
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** Pages of a site that are remembered, those that sent last. */
export const PAGES_MAX = 200;
/** A site has at most so many event definitions. */
const DEFINITIONS_MAX = 200;

interface Fired {
  count: number;
  firstMs: number;
  lastMs: number;
}

/** What one edge has seen of one site's tag and not passed on yet. Its size is bounded, however long that takes. */
export interface TagNotes {
  lastMs: number;
  /** Events by hour since 1970 UTC. */
  hours: Map<number, number>;
  /** When each page last sent an event, the page that sent longest ago first. */
  pages: Map<string, number>;
  fired: Map<string, Fired>;
  /** What tags reported of themselves, by day since 1970 UTC and counter, as `20000:dropped`. */
  reported: Map<string, number>;
}

export function newNotes(): TagNotes {
  return { lastMs: 0, hours: new Map(), pages: new Map(), fired: new Map(), reported: new Map() };
}

export function noteEvent(notes: TagNotes, { page, definition, reported }: Signs, atMs: number): void {
  notes.lastMs = Math.max(notes.lastMs, atMs);
  add(notes.hours, Math.floor(atMs / HOUR_MS), 1);
  if (page !== null) notePage(notes.pages, page, atMs);
  if (definition !== null) noteFired(notes.fired, definition, atMs);
  for (const [name, count] of Object.entries(reported ?? {}) as [Reported, number][]) {
    if (count > 0) add(notes.reported, `${Math.floor(atMs / DAY_MS)}:${name}`, count);
  }
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function notePage(pages: Map<string, number>, page: string, atMs: number): void {
  pages.delete(page);
  pages.set(page, atMs);
  if (pages.size > PAGES_MAX) for (const oldest of pages.keys()) return void pages.delete(oldest);
}

function noteFired(all: Map<string, Fired>, definition: string, atMs: number): void {
  const known = all.get(definition);
  if (known === undefined && all.size >= DEFINITIONS_MAX) return;
  const { count, firstMs, lastMs } = known ?? { count: 0, firstMs: atMs, lastMs: atMs };
  all.set(definition, { count: count + 1, firstMs: Math.min(firstMs, atMs), lastMs: Math.max(lastMs, atMs) });
}

/** What a tag counts itself and reports once a day, in an event of its own. */
const REPORTED = ['retried', 'dropped', 'rejected', 'blocked'] as const;
type Reported = (typeof REPORTED)[number];
const REPORT_EVENT = '$tag_health';

/** What an accepted event says of the tag that sent it. */
export interface Signs {
  /** Host and path of the page, without its query; null where the event names none. */
  page: string | null;
  /** The event definition that fired it, as the event says. */
  definition: string | null;
  /** What the tag reports of itself; null for any other event. */
  reported: Record<Reported, number> | null;
}

const PAGE_CHARACTERS_MAX = 200;
const PAGE_KEY = '"$current_url":"';
const PAGE_URL = /"\$current_url":"((?:[^"\\]|\\.)*)"/;
const DEFINITION = /"\$definition_id":"((?:[^"\\]|\\.)*)"/;

/**
 * Reads the signs from the text of an event's properties, which is cleaned of personal data already. The text is searched
 * and not parsed: this happens for every event of every browser. In JSON a quote inside a text is escaped, so that
 * nothing somebody wrote can pass for a name.
 */
export function signsOf(event: string, properties: string): Signs {
  return {
    page: pageIn(properties),
    definition: properties.includes('"$definition_id"') ? textAt(DEFINITION, properties) : null,
    reported: event === REPORT_EVENT ? reportedIn(properties) : null,
  };
}

/** Addresses and their pages: few are sent over and over. */
const pagesKnown = new Map<string, string | null>();
const ADDRESSES_MAX = 1024;
const ADDRESS_CHARACTERS_MAX = 300;

function pageIn(properties: string): string | null {
  const start = properties.indexOf(PAGE_KEY) + PAGE_KEY.length;
  const end = start < PAGE_KEY.length ? -1 : properties.indexOf('"', start);
  if (end < 0) return null;
  const address = properties.slice(start, end);
  if (address.includes('\\')) return pageOf(textAt(PAGE_URL, properties));
  const known = pagesKnown.get(address);
  if (known !== undefined) return known;
  const page = pageOf(address);
  if (pagesKnown.size >= ADDRESSES_MAX) pagesKnown.clear();
  if (address.length <= ADDRESS_CHARACTERS_MAX) pagesKnown.set(detached(address), page);
  return page;
}

function textAt(pattern: RegExp, json: string): string | null {
  const found = pattern.exec(json)?.[1];
  return found === undefined ? null : (JSON.parse(`"${found}"`) as string);
}

function pageOf(address: string | null): string | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return (url.host + url.pathname).slice(0, PAGE_CHARACTERS_MAX);
}

function reportedIn(properties: string): Record<Reported, number> {
  const given = JSON.parse(properties) as Record<string, unknown>;
  const countOf = (count: unknown): number =>
    Number.isSafeInteger(count) && (count as number) > 0 ? Math.min(count as number, REPORTED_MAX) : 0;
  return Object.fromEntries(REPORTED.map((name) => [name, countOf(given[name])])) as Record<Reported, number>;
}

/** A browser can count no more in a day. */
const REPORTED_MAX = 1_000_000;
