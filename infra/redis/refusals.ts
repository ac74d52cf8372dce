import type { HourRefusals } from '#pipelines/refusals/refusal_counts.ts';
import {
  HOUR_MS,
  type RefusalKind,
  type RefusalNotes,
  type RefusalSample,
  reasonOf,
} from '#pipelines/refusals/refusal_notes.ts';
import { asked, type Redis } from './client.ts';
import { createScript } from './lua_script.ts';

/** What was not accepted of a site, by all edges together. */
export interface RefusalRecord {
  /** Since when edges count here; null where none has said so. A Redis that was emptied begins anew. */
  sinceMs: number | null;
  hours: readonly HourRefusals[];
  /** The newest first. */
  samples: readonly RefusalSample[];
}

/** Hours that are kept: those of 7 days, and the one that is under way. */
const REFUSAL_HOURS = 7 * 24;
const KEPT_MS = (REFUSAL_HOURS + 1) * HOUR_MS;
const SAMPLES_OF_REASON_MAX = 20;
const SAMPLES_MAX = 100;
const SINCE = 'refusals.since';

/** Adds what an edge did not accept to what is remembered of a site. @throws RedisUnavailableError */
export function createRefusalNoting(redis: Redis): (siteId: string, notes: RefusalNotes) => Promise<void> {
  const script = createScript(redis, 'refusals.lua');
  return async (siteId, { counts, samples }) => {
    const told = samples.map((sample) => [sample.atMs, `${reasonOf(sample)} ${JSON.stringify(sample)}`]);
    const text = JSON.stringify({ counts: [...counts], samples: told });
    await script.run(keysOf(siteId), [text, KEPT_MS, REFUSAL_HOURS, SAMPLES_OF_REASON_MAX, SAMPLES_MAX]);
  };
}

/** Says that an edge counts from now on, unless one has said so before. @throws RedisUnavailableError */
export async function markRefusalsCounted(redis: Redis, nowMs: number): Promise<void> {
  await asked(redis.set(SINCE, String(nowMs), 'NX'));
}

/** What was not accepted of a site. @throws RedisUnavailableError */
export async function readRefusalRecord(redis: Redis, siteId: string): Promise<RefusalRecord> {
  const [counts, samples] = keysOf(siteId);
  const [since, byField, newest] = await Promise.all([
    asked(redis.get(SINCE)),
    asked(redis.hgetall(counts)),
    asked(redis.zrevrange(samples, 0, -1)),
  ]);
  return {
    sinceMs: since === null ? null : Number(since),
    hours: Object.entries(byField).map(([field, count]) => hourOf(field, Number(count))),
    samples: newest.map((text) => JSON.parse(text.slice(text.indexOf(' ') + 1)) as RefusalSample),
  };
}

/** One hash tag, so that a cluster keeps what one script needs together. */
function keysOf(siteId: string): [counts: string, samples: string] {
  return [`refusals.{${siteId}}.counts`, `refusals.{${siteId}}.samples`];
}

/** Fields are an hour, a kind and a code, as `480000:rejected:event_name_missing`. */
function hourOf(field: string, count: number): HourRefusals {
  const [hour = '', kind = '', code = ''] = field.split(':');
  return { hour: Number(hour), kind: kind as RefusalKind, code, count };
}
