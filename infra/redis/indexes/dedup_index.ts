// The index of event ids seen, packed into small hashes.

import type { ClaimStore, DedupKey, StoredKey } from '#pipelines/dedup/claim.ts';
import { asked, createIndexScript, type Redis } from '../client.ts';
import { type Attempt, createIndexEpoch, type IndexEpoch, openAttempt } from './rebuildable_index.ts';

interface ClaimOptions {
  /** How long an id stays claimed at least, in whole hours; 8 days cover reports that come up to 7 days late. */
  windowMs: number;
  /** How many characters a bucket's name has. */
  bucketChars: number;
  /**
   * The claims of one script call must lie on one node: in a cluster they are sharded by the bucket's first character.
   */
  cluster: boolean;
}

/** Claims of one script call at most, as every other command waits while a script runs. About 4 ms. */
const CLAIMS_PER_SCRIPT = 500;
/** Of how claims are written. */
const FORMAT = 'v1';
const HOUR_MS = 3_600_000;
/** How often in a window old claims are removed from each bucket: a claim is kept up to a quarter longer. */
const ROUNDS_IN_WINDOW = 4;

/** Claims in Redis. Throws IndexLostError if some claims may be missing. */
export interface DedupIndex extends ClaimStore {
  readonly incarnation: IndexEpoch;
  /** Restores claims that were made in the past; one that is there stays as it is. */
  restore(claims: readonly StoredKey[]): Promise<void>;
  /**
   * Opens the rebuild that a process has begun, with its progress. If a new one begins, claims of other layouts are
   * dropped.
   */
  attempt(): Promise<Attempt>;
}

/** What a cluster's shards are named by: a bucket's first character, of base64url. */
const SHARDS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');

/**
 * Claims packed into small hashes: about 30 bytes a claim while a hash stays below Redis's listpack limit, against 161 for
 * a key of its own. Redis 7.0 has no expiry per field, so a claim carries its hour, by the clock of Redis, and the calls sweep the buckets in turn.
 */
export function createDedupIndex(redis: Redis, options: ClaimOptions): DedupIndex {
  const claimScript = createIndexScript(redis, 'indexes/claim_buckets.lua', 'indexes/claim.lua');
  const restoreScript = createIndexScript(redis, 'indexes/claim_buckets.lua', 'indexes/restore_claims.lua');
  const groupsOf = options.cluster ? shards : whole;
  const prefixes = options.cluster ? CLUSTER_PREFIXES : SINGLE_PREFIX;
  const layout = layoutOf(options);
  return {
    incarnation: createIndexEpoch(redis, prefixes, layout),
    attempt: () => openAttempt(redis, prefixes, layout, () => dropOtherBuckets(redis, prefixes, options.bucketChars)),
    async claim(claims) {
      const answers: (string | null)[] = new Array(claims.length).fill(null);
      await eachChunk(groupsOf(claims), async (shard, members) => {
        const args = [layout, ...argumentsOf(options, shard, members)];
        const held = (await claimScript.run([prefixOf(shard)], args)) as (string | null)[];
        members.forEach(({ index }, at) => {
          answers[index] = held[at] ?? null;
        });
      });
      return answers;
    },
    async restore(claims) {
      await eachChunk(groupsOf(claims), async (shard, members) => {
        let lines = '';
        for (const { claim } of members) lines += restoredLine(claim);
        await restoreScript.run([prefixOf(shard)], [options.windowMs, lines]);
      });
    },
  };
}

/** What decides where claims are found and how long they are kept. If it changes they count as lost. */
function layoutOf({ windowMs, bucketChars }: ClaimOptions): string {
  return `${FORMAT},chars=${bucketChars},hours=${Math.floor(windowMs / HOUR_MS)}`;
}

/** Runs the claims of each shard in order, in several calls, and the shards side by side. */
async function eachChunk<T extends DedupKey>(
  groups: readonly [shard: string, members: Member<T>[]][],
  run: (shard: string, members: readonly Member<T>[]) => Promise<void>,
): Promise<void> {
  await Promise.all(
    groups.map(async ([shard, members]) => {
      // Once where there are none, as every call sweeps.
      for (let at = 0; at === 0 || at < members.length; at += CLAIMS_PER_SCRIPT) {
        await run(shard, members.slice(at, at + CLAIMS_PER_SCRIPT));
      }
    }),
  );
}

interface Member<T extends DedupKey = DedupKey> {
  claim: T;
  /** Its index among the requested claims. */
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
  { windowMs, bucketChars }: ClaimOptions,
  shard: string,
  members: readonly Member[],
): (string | number)[] {
  const chars = bucketChars - shard.length;
  const turnMs = windowMs / ROUNDS_IN_WINDOW / SHARDS.length ** chars;
  let lines = '';
  for (const { claim } of members) lines += `${claim.bucket} ${claim.field} ${claim.coordinate}\n`;
  return [windowMs, turnMs, shard, chars, members.length, lines];
}

function restoredLine({ bucket, field, coordinate, claimedAtMs }: StoredKey): string {
  return `${bucket} ${field} ${coordinate} ${claimedAtMs}\n`;
}

function whole<T extends DedupKey>(claims: readonly T[]): [shard: string, members: Member<T>[]][] {
  return [[NO_SHARD, claims.map((claim, index) => ({ claim, index }))]];
}

function shards<T extends DedupKey>(claims: readonly T[]): [shard: string, members: Member<T>[]][] {
  const groups = Map.groupBy(
    claims.map((claim, index) => ({ claim, index })),
    ({ claim }) => claim.bucket.charAt(0),
  );
  return [...groups];
}

const KEYS_PER_SCAN = 1_000;
/** Buckets of any prefix, as `d:b:NAME` and `d:{SHARD}:b:NAME`. */
const BUCKET_KEYS = 'd:*b:*';

/** Drops the buckets that claims of another layout lie in: nobody looks there any more, and nothing sweeps them. */
async function dropOtherBuckets(redis: Redis, prefixes: readonly string[], bucketChars: number): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await asked(redis.scan(cursor, 'MATCH', BUCKET_KEYS, 'COUNT', KEYS_PER_SCAN));
    const others = keys.filter((key) => !isBucket(key, prefixes, bucketChars));
    await Promise.all(others.map((key) => asked(redis.unlink(key))));
    cursor = next;
  } while (cursor !== '0');
}

function isBucket(key: string, prefixes: readonly string[], bucketChars: number): boolean {
  const name = key.slice(-bucketChars);
  return prefixes.some((prefix) => key === `${prefix}b:${name}`);
}
