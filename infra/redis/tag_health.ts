import type { FiredRecord } from '#pipelines/tag_health/judge_definition.ts';
import { DAYS_KEPT } from '#pipelines/tag_health/judge_site.ts';
import { DAY_MS, PAGES_MAX, type TagNotes } from '#pipelines/tag_health/notes.ts';
import { asked, type Redis } from './client.ts';
import { createScript } from './lua_script.ts';

/** What is remembered of a site's tag, of all edges together. */
export interface TagRecord {
  /** When the last event of a browser came; null where none is remembered. */
  lastMs: number | null;
  /** Events of browsers by hour since 1970 UTC. */
  hours: ReadonlyMap<number, number>;
  /** When each page last sent an event, the newest first. */
  pages: readonly [page: string, lastMs: number][];
  fired: ReadonlyMap<string, FiredRecord>;
  /** What tags reported of themselves in the days that are kept, by counter. */
  reported: ReadonlyMap<string, number>;
}

/** A site of which nothing came for so long is forgotten. */
const KEPT_MS = 60 * DAY_MS;
/** Definitions that were deleted stay until others need their place. */
const DEFINITIONS_MAX = 400;
const REPORTED_DAYS = 7;

/** Adds what an edge has seen to what is remembered of a site. @throws RedisUnavailableError */
export function createTagNoting(redis: Redis): (siteId: string, notes: TagNotes) => Promise<void> {
  const script = createScript(redis, 'tag_health.lua');
  return async (siteId, notes) => {
    const { lastMs, hours, pages, reported } = notes;
    const fired = [...notes.fired].map(([id, { count, firstMs, lastMs: firedMs }]) => [id, count, firstMs, firedMs]);
    const text = JSON.stringify({ lastMs, hours: [...hours], pages: [...pages], reported: [...reported], fired });
    await script.run(keysOf(siteId), [text, KEPT_MS, PAGES_MAX, DEFINITIONS_MAX, DAYS_KEPT * 24, REPORTED_DAYS - 1]);
  };
}

/** What is remembered of a site's tag. @throws RedisUnavailableError */
export async function readTagRecord(redis: Redis, siteId: string): Promise<TagRecord> {
  const [facts, hours, pages, definitions] = keysOf(siteId);
  const [ofSite, byHour, byPage, byDefinition] = await Promise.all([
    asked(redis.hgetall(facts)),
    asked(redis.hgetall(hours)),
    asked(redis.zrevrange(pages, 0, -1, 'WITHSCORES')),
    asked(redis.hgetall(definitions)),
  ]);
  const { last, ...reported } = ofSite;
  return {
    lastMs: last === undefined ? null : Number(last),
    hours: new Map(Object.entries(byHour).map(([hour, count]) => [Number(hour), Number(count)])),
    pages: byPage.flatMap((page, at) => (at % 2 === 0 ? [[page, Number(byPage[at + 1])] as [string, number]] : [])),
    fired: new Map(Object.entries(byDefinition).map(([id, text]) => [id, firedOf(text)])),
    reported: sums(reported),
  };
}

/** One hash tag, so that a cluster keeps what one script needs together. */
function keysOf(siteId: string): [facts: string, hours: string, pages: string, definitions: string] {
  const of = (what: string): string => `tag.{${siteId}}.${what}`;
  return [of('facts'), of('hours'), of('pages'), of('definitions')];
}

function firedOf(text: string): FiredRecord {
  const [count = 0, lastMs = 0, gapMs = 0] = JSON.parse(text) as number[];
  return { count, lastMs, gapMs };
}

/** Fields are a day and a counter, as `20000:dropped`. */
function sums(byDay: Record<string, string>): Map<string, number> {
  const sum = new Map<string, number>();
  for (const [field, count] of Object.entries(byDay)) {
    const name = field.slice(field.indexOf(':') + 1);
    sum.set(name, (sum.get(name) ?? 0) + Number(count));
  }
  return sum;
}
