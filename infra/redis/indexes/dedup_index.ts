// The index of event ids seen, packed into small hashes.

import type { DedupKey, StoredKey } from '#pipelines/dedup/dedup.ts';
import { createIndexScript, unlinkWhere, withRedisErrors } from '../client.ts';
import type { Redis } from '../connection.ts';
import { createIndexEpoch, layoutIn, resumeRebuild } from './index_epoch.ts';

interface ClaimOptions {
  /** How long an id stays claimed at least, in whole hours; 8 days cover reports that come up to 7 days late. */
  windowMs: number;
  /** Null: as many as the claims have that are there, or are being made again; `BUCKET_CHARS` where there are none. */
  bucketChars: number | null;
  /**
   * The claims of one script call must lie on one node: in a cluster they are sharded by the bucket's first character.
   */
  cluster: boolean;
}

/** Buckets stay packed up to 15,000 events/s of the busiest hour; with one less up to 240, and with one more above. */
const BUCKET_CHARS = 4;
/** Claims of one script call at most, as every other command waits while a script runs. About 4 ms. */
const CLAIMS_PER_SCRIPT = 500;
const FORMAT = 'v1';
const HOUR_MS = 3_600_000;
/** How often in a window old claims are removed from each bucket: a claim is kept up to a quarter longer. */
const ROUNDS_IN_WINDOW = 4;

/** Claims in Redis. Throws IndexLostError if some claims may be missing. */
export type DedupIndex = ReturnType<typeof createDedupIndex>;

/** What a cluster's shards are named by: a bucket's first character, of base64url. */
const SHARDS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');

/**
 * Claims packed into small hashes: about 30 bytes a claim while a hash stays below Redis's listpack limit, against 161 for
 * a key of its own. Redis 7.0 has no expiry per field, so a claim carries its hour, by the clock of Redis, and the calls
 * sweep the buckets in turn.
 */
export function createDedupIndex(redis: Redis, options: ClaimOptions) {
  const claimScript = createIndexScript(redis, 'indexes/claim_buckets.lua', 'indexes/claim.lua');
  const restoreScript = createIndexScript(redis, 'indexes/claim_buckets.lua', 'indexes/restore_claims.lua');
  const prefixes = options.cluster ? CLUSTER_PREFIXES : SINGLE_PREFIX;
  let chars = options.bucketChars ?? BUCKET_CHARS;
  // What decides where claims are found and how long they are kept. If it changes they count as lost.
  const layoutOf = (bucketChars: number): string =>
    `${FORMAT},chars=${bucketChars},hours=${Math.floor(options.windowMs / HOUR_MS)}`;
  const epoch = createIndexEpoch(redis, prefixes, () => layoutOf(chars));
  return {
    epoch: {
      ...epoch,
      async state() {
        if (options.bucketChars === null) {
          const [, found] = /(?:^|,)chars=(\d)(?:,|$)/.exec((await layoutIn(redis, prefixes)) ?? '') ?? [];
          if (found !== undefined) chars = Number(found);
        }
        return epoch.state();
      },
    },
    /** Of the keys of claims; it may change where the index was found lost. */
    bucketChars: (): number => chars,
    /**
     * Opens the rebuild that a process has begun, with its progress. If a new one begins, claims of other layouts are
     * dropped.
     */
    attempt: () => resumeRebuild(redis, prefixes, layoutOf(chars), () => dropOtherBuckets(redis, prefixes, chars)),
    /** How full buckets are, of what Redis packs: an id takes five times the memory from 1 on. */
    async bucketFill(): Promise<number> {
      const counted = SHARDS.filter((_, at) => at % COUNTED_EVERY === 0);
      const sizes = await Promise.all(
        counted.map((shard) => {
          const prefix = prefixOf(options.cluster ? shard : NO_SHARD);
          return withRedisErrors(redis.hlen(`${prefix}b:${shard.repeat(chars)}`));
        }),
      );
      return sizes.reduce((sum, size) => sum + size, 0) / sizes.length / PACKED_MAX;
    },
    async claim(claims: readonly DedupKey[]): Promise<(string | null)[]> {
      // Keys that were made before it changed are refused by the script, as their layout is another.
      const bucketChars = options.bucketChars ?? claims[0]?.bucket.length ?? chars;
      const answers: (string | null)[] = new Array(claims.length).fill(null);
      await eachChunk(claims, options, async (shard, members) => {
        const args = [layoutOf(bucketChars), ...argumentsOf(options.windowMs, bucketChars, shard, members)];
        const held = (await claimScript.run([prefixOf(shard)], args)) as (string | null)[];
        members.forEach(({ index }, at) => {
          answers[index] = held[at] ?? null;
        });
      });
      return answers;
    },
    /** Restores claims that were made in the past; one that is there stays as it is. */
    async restore(claims: readonly StoredKey[]): Promise<void> {
      await eachChunk(claims, options, async (shard, members) => {
        let lines = '';
        for (const { claim } of members) {
          lines += `${claim.bucket} ${claim.field} ${claim.coordinate} ${claim.claimedAtMs}\n`;
        }
        await restoreScript.run([prefixOf(shard)], [options.windowMs, lines]);
      });
    },
  };
}

/** Runs the claims of each shard in order, in several calls, and the shards side by side. */
async function eachChunk<T extends DedupKey>(
  claims: readonly T[],
  { cluster }: ClaimOptions,
  run: (shard: string, members: readonly Member<T>[]) => Promise<void>,
): Promise<void> {
  const all = claims.map((claim, index) => ({ claim, index }));
  const groups = cluster ? Map.groupBy(all, ({ claim }) => claim.bucket.charAt(0)) : new Map([[NO_SHARD, all]]);
  await Promise.all(
    [...groups].map(async ([shard, members]) => {
      // Once where there are none, as every call sweeps.
      for (let at = 0; at === 0 || at < members.length; at += CLAIMS_PER_SCRIPT) {
        await run(shard, members.slice(at, at + CLAIMS_PER_SCRIPT));
      }
    }),
  );
}

interface Member<T extends DedupKey = DedupKey> {
  claim: T;
  index: number;
}

const PREFIX = 'd:';
/** The one shard of all claims if there is no cluster. */
const NO_SHARD = '';

const SINGLE_PREFIX = [PREFIX] as const;
const CLUSTER_PREFIXES = SHARDS.map((shard) => prefixOf(shard)) as [string, ...string[]];

function prefixOf(shard: string): string {
  return shard === NO_SHARD ? PREFIX : `${PREFIX}{${shard}}:`;
}

/** The arguments of claim.lua. */
function argumentsOf(
  windowMs: number,
  bucketChars: number,
  shard: string,
  members: readonly Member[],
): (string | number)[] {
  const chars = bucketChars - shard.length;
  const turnMs = windowMs / ROUNDS_IN_WINDOW / SHARDS.length ** chars;
  let lines = '';
  for (const { claim } of members) lines += `${claim.bucket} ${claim.field} ${claim.coordinate}\n`;
  return [windowMs, turnMs, shard, chars, members.length, lines];
}

/** Buckets of any prefix, as `d:b:NAME` and `d:{SHARD}:b:NAME`. */
export const BUCKET_KEYS = 'd:*b:*';

/** Ids up to which Redis packs a bucket, where it was not told otherwise. */
export const PACKED_MAX = 512;
/** Every fourth shard has one of the buckets that are counted: enough for the mean of all, as ids are spread evenly. */
const COUNTED_EVERY = 4;

/** Drops the buckets that claims of another layout lie in: nobody looks there any more, and nothing sweeps them. */
async function dropOtherBuckets(redis: Redis, prefixes: readonly string[], bucketChars: number): Promise<void> {
  await unlinkWhere(redis, BUCKET_KEYS, (key) =>
    prefixes.every((prefix) => key !== `${prefix}b:${key.slice(-bucketChars)}`),
  );
}
