import type { Reported, Signs } from './signs.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** Pages of a site that are remembered, those that sent last. */
export const PAGES_MAX = 200;
/** A site has at most so many event definitions. */
const DEFINITIONS_MAX = 200;

/** How often a definition fired in a while, and when first and last. */
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

/** Notes one event that came at `atMs`. */
export function noteEvent(notes: TagNotes, { page, definition, reported }: Signs, atMs: number): void {
  notes.lastMs = Math.max(notes.lastMs, atMs);
  add(notes.hours, Math.floor(atMs / HOUR_MS), 1);
  if (page !== null) notePage(notes.pages, page, atMs);
  if (definition !== null) noteFired(notes.fired, definition, { count: 1, firstMs: atMs, lastMs: atMs });
  for (const [name, count] of Object.entries(reported ?? {}) as [Reported, number][]) {
    if (count > 0) add(notes.reported, `${Math.floor(atMs / DAY_MS)}:${name}`, count);
  }
}

/** Takes back notes that could not be passed on; `earlier` came before what `notes` holds. */
export function mergeNotes(notes: TagNotes, earlier: TagNotes): void {
  notes.lastMs = Math.max(notes.lastMs, earlier.lastMs);
  for (const [hour, count] of earlier.hours) add(notes.hours, hour, count);
  for (const [name, count] of earlier.reported) add(notes.reported, name, count);
  for (const [definition, fired] of earlier.fired) noteFired(notes.fired, definition, fired);
  const newer = [...notes.pages];
  notes.pages.clear();
  for (const [page, atMs] of [...earlier.pages, ...newer]) notePage(notes.pages, page, atMs);
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function notePage(pages: Map<string, number>, page: string, atMs: number): void {
  pages.delete(page);
  pages.set(page, atMs);
  if (pages.size > PAGES_MAX) for (const oldest of pages.keys()) return void pages.delete(oldest);
}

function noteFired(all: Map<string, Fired>, definition: string, fired: Fired): void {
  const known = all.get(definition);
  if (known === undefined && all.size >= DEFINITIONS_MAX) return;
  all.set(definition, {
    count: (known?.count ?? 0) + fired.count,
    firstMs: Math.min(known?.firstMs ?? fired.firstMs, fired.firstMs),
    lastMs: Math.max(known?.lastMs ?? fired.lastMs, fired.lastMs),
  });
}
