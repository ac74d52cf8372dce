// What edges report for the dashboard: rejected events, health of tags, use of keys.
import type { Logger } from '#infra/log/logger.ts';
import {
  HOUR_MS,
  type HourRejections,
  type RejectionCounts,
  type RejectionSample,
  reasonOf,
  type WarningKind,
} from '#pipelines/ingestion_warnings/warnings.ts';
import { DAY_MS, DAYS_KEPT, type FiredRecord, PAGES_MAX, type TagNotes } from '#pipelines/tag/tag_health.ts';
import { createScript, pairsOf, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

/** What was not accepted of a site, by all edges together. */
export interface RejectionRecord {
  /** Since when edges count here; null where none has said so. A Redis that was emptied begins anew. */
  sinceMs: number | null;
  hours: readonly HourRejections[];
  /** The newest first. */
  samples: readonly RejectionSample[];
}

/** Hours that are kept: those of 7 days, and the one that is under way. */
const REFUSAL_HOURS = 7 * 24;
const REFUSALS_KEPT_MS = (REFUSAL_HOURS + 1) * HOUR_MS;
const SAMPLES_OF_REASON_MAX = 20;
const SAMPLES_MAX = 100;
const SINCE = 'refusals.since';

/** Passes on what an edge has gathered of a site, once for each number: they rise. @throws RedisUnavailableError */
export type Report<Notes> = (siteId: string, notes: Notes, number: number) => Promise<void>;

/**
 * Adds what an edge did not accept to what is remembered of a site.
 *
 * @param edgeId Another for each start of an edge.
 */
export function createRejectionReporter(redis: Redis, edgeId: string): Report<RejectionCounts> {
  const script = createScript(redis, 'edge_report.lua', 'refusals.lua');
  return async (siteId, { counts, samples }, number) => {
    const told = samples.map((sample) => [sample.atMs, `${reasonOf(sample)} ${JSON.stringify(sample)}`]);
    const text = JSON.stringify({ counts: [...counts], samples: told });
    await script.run(
      [...rejectionKeys(siteId), `refusals.{${siteId}}.of.${edgeId}`],
      [text, number, REFUSALS_KEPT_MS, REFUSAL_HOURS, SAMPLES_OF_REASON_MAX, SAMPLES_MAX],
    );
  };
}

/** Says that an edge counts from now on, unless one has said so before. @throws RedisUnavailableError */
export async function markRejectionsCounted(redis: Redis, nowMs: number): Promise<void> {
  await withRedisErrors(redis.set(SINCE, String(nowMs), 'NX'));
}

/** What was not accepted of a site. @throws RedisUnavailableError */
export async function readRejections(redis: Redis, siteId: string): Promise<RejectionRecord> {
  const [counts, samples] = rejectionKeys(siteId);
  const [since, byField, newest] = await Promise.all([
    withRedisErrors(redis.get(SINCE)),
    withRedisErrors(redis.hgetall(counts)),
    withRedisErrors(redis.zrevrange(samples, 0, -1)),
  ]);
  return {
    sinceMs: since === null ? null : Number(since),
    // Fields are an hour, a kind and a code, as `480000:rejected:event_name_missing`.
    hours: Object.entries(byField).map(([field, count]) => {
      const [hour = '', kind = '', code = ''] = field.split(':');
      return { hour: Number(hour), kind: kind as WarningKind, code, count: Number(count) };
    }),
    samples: newest.map((text) => JSON.parse(text.slice(text.indexOf(' ') + 1)) as RejectionSample),
  };
}

/** One hash tag, so that a cluster keeps what one script needs together. */
function rejectionKeys(siteId: string): [counts: string, samples: string] {
  return [`refusals.{${siteId}}.counts`, `refusals.{${siteId}}.samples`];
}

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
const TAG_KEPT_MS = 60 * DAY_MS;
/** Definitions that were deleted stay until others need their place. */
const DEFINITIONS_MAX = 400;
const REPORTED_DAYS = 7;

/** Adds what an edge has seen to what is remembered of a site. */
export function createTagReporter(redis: Redis, edgeId: string): Report<TagNotes> {
  const script = createScript(redis, 'edge_report.lua', 'tag_health.lua');
  return async (siteId, notes, number) => {
    const { lastMs, hours, pages, reported } = notes;
    const fired = [...notes.fired].map(([id, { count, firstMs, lastMs: firedMs }]) => [id, count, firstMs, firedMs]);
    const text = JSON.stringify({ lastMs, hours: [...hours], pages: [...pages], reported: [...reported], fired });
    await script.run(
      [...tagKeys(siteId), `tag.{${siteId}}.of.${edgeId}`],
      [text, number, TAG_KEPT_MS, PAGES_MAX, DEFINITIONS_MAX, DAYS_KEPT * 24, REPORTED_DAYS - 1],
    );
  };
}

/** What is remembered of a site's tag. @throws RedisUnavailableError */
export async function readTagRecord(redis: Redis, siteId: string): Promise<TagRecord> {
  const [facts, hours, pages, definitions] = tagKeys(siteId);
  const [ofSite, byHour, byPage, byDefinition] = await Promise.all([
    withRedisErrors(redis.hgetall(facts)),
    withRedisErrors(redis.hgetall(hours)),
    withRedisErrors(redis.zrevrange(pages, 0, -1, 'WITHSCORES')),
    withRedisErrors(redis.hgetall(definitions)),
  ]);
  const { last, ...reported } = ofSite;
  return {
    lastMs: last === undefined ? null : Number(last),
    hours: new Map(Object.entries(byHour).map(([hour, count]) => [Number(hour), Number(count)])),
    pages: pairsOf(byPage).map(([page, pageMs]) => [page, Number(pageMs)]),
    fired: new Map(
      Object.entries(byDefinition).map(([id, text]) => {
        const [count = 0, lastMs = 0, gapMs = 0] = JSON.parse(text) as number[];
        return [id, { count, lastMs, gapMs }];
      }),
    ),
    reported: sums(reported),
  };
}

/** One hash tag, so that a cluster keeps what one script needs together. */
function tagKeys(siteId: string): [facts: string, hours: string, pages: string, definitions: string] {
  const of = (what: string): string => `tag.{${siteId}}.${what}`;
  return [of('facts'), of('hours'), of('pages'), of('definitions')];
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

/** When each key was last used, by the key's hash, in milliseconds since 1970 UTC. */
export type KeyUses = ReadonlyMap<string, number>;

/** Score: when. Member: the hash of a key. One set for all keys, of which there are as many as were ever issued. */
const NAME = 'keys.used';

/** Notes uses; a later time that is noted already stays. @throws RedisUnavailableError */
export async function recordKeyUses(redis: Redis, uses: KeyUses): Promise<void> {
  const pairs = [...uses].flatMap(([keyHash, usedAtMs]) => [usedAtMs, keyHash]);
  if (pairs.length > 0) await withRedisErrors(redis.zadd(NAME, 'GT', ...pairs));
}

export type KeyUseView = ReturnType<typeof createKeyUseView>;

/** A page of keys, and the next, are shown from one reading. */
const FRESH_MS = 500;

export function createKeyUseView(redis: Redis, logger: Logger, nowMs: () => number) {
  let uses: KeyUses = new Map();
  let readAtMs = Number.NEGATIVE_INFINITY;
  return {
    /** Reads anew, unless that was done just now. While Redis is away what was known stays. */
    async refresh(): Promise<void> {
      if (nowMs() - readAtMs < FRESH_MS) return;
      try {
        const flat = await withRedisErrors(redis.zrange(NAME, 0, '-1', 'WITHSCORES'));
        uses = new Map(pairsOf(flat).map(([keyHash, usedAtMs]) => [keyHash, Number(usedAtMs)]));
        readAtMs = nowMs();
      } catch (error) {
        logger.warn({ err: error }, 'last use of keys unavailable');
      }
    },
    /** When a key was last used, to the minute; null where that is not known. */
    lastUsed: (keyHash: string): number | null => uses.get(keyHash) ?? null,
  };
}
