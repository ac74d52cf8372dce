import type { Redis } from 'ioredis';
import type { Claim, ClaimStore, PastClaim } from '#pipelines/dedup/claim.ts';
import { createEpoch, type Epoch } from './epoch.ts';
import { createIndexScript, type Script } from './script.ts';

export interface ClaimOptions {
  /** How long an id stays claimed at least; 8 days cover reports that come up to 7 days late. */
  windowMs: number;
  /** Claims of a script call must meet on one node: in a cluster they are cut by the bucket's first character. */
  cluster: boolean;
}

/** The window is looked at in this many whole periods and the one that runs. */
const PERIODS_IN_WINDOW = 2;
/** Another process's clock may run ahead by this much: what it claims then may lie in the period to come. */
const CLOCKS_MS = 60 * 60_000;

/** Claims in Redis: throws IndexLostError where some that were made may be missing. */
export interface ClaimIndex extends ClaimStore {
  readonly epoch: Epoch;
  /** Makes claims again that were made in the past; one that is there stays as it is. */
  restore(claims: readonly PastClaim[], nowMs: number): Promise<void>;
}

/** What a cluster's shards are named by: a bucket's first character, of base64url. */
const SHARDS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');

/**
 * Claims packed into small hashes, a hash per period and bucket: 29 bytes a claim while a hash stays below Redis's
 * listpack limit, against 161 for a key of its own. Redis 7.0 has no expiry per field, so whole periods expire.
 */
export function createClaimStore(redis: Redis, options: ClaimOptions): ClaimIndex {
  const claimScript = createIndexScript(redis, 'claim.lua');
  const restoreScript = createIndexScript(redis, 'restore_claims.lua');
  const periodMs = options.windowMs / PERIODS_IN_WINDOW;
  const groupsOf = <T extends Claim>(claims: readonly T[]): [prefix: string, members: Member<T>[]][] =>
    options.cluster ? shards(claims) : [[PREFIX, claims.map((claim, index) => ({ claim, index }))]];
  return {
    epoch: createEpoch(redis, options.cluster ? SHARDS.map(shardPrefix) : [PREFIX]),
    async claim(claims, nowMs) {
      const answers: (string | null)[] = new Array(claims.length).fill(null);
      await Promise.all(
        groupsOf(claims).map(async ([prefix, members]) => {
          const held = await ask(claimScript, prefix, nowMs, periodMs, members);
          members.forEach(({ index }, at) => {
            answers[index] = held[at] ?? null;
          });
        }),
      );
      return answers;
    },
    async restore(claims, nowMs) {
      if (claims.length === 0) return;
      await Promise.all(
        groupsOf(claims).map(([prefix, members]) =>
          restoreScript.run(
            [prefix],
            members.flatMap(({ claim }) => restored(claim, nowMs, periodMs)),
          ),
        ),
      );
    },
  };
}

interface Member<T extends Claim = Claim> {
  claim: T;
  /** Its place among the claims that were asked for. */
  index: number;
}

const PREFIX = 'c:';

function shardPrefix(shard: string): string {
  return `c:{${shard}}:`;
}

async function ask(
  script: Script,
  prefix: string,
  nowMs: number,
  periodMs: number,
  members: readonly Member[],
): Promise<(string | null)[]> {
  const ttlSeconds = Math.ceil((periodMs * (PERIODS_IN_WINDOW + 1)) / 1000);
  const elsewhere = otherPeriods(nowMs, periodMs);
  let lines = '';
  for (const { claim } of members) lines += `${claim.bucket} ${claim.field} ${claim.coordinate}\n`;
  const args = [nowMs, ttlSeconds, Math.floor(nowMs / periodMs), elsewhere.length, ...elsewhere, lines];
  return (await script.run([prefix], args)) as (string | null)[];
}

/** Periods beside the current one in which a claim that counts may lie. */
function otherPeriods(nowMs: number, periodMs: number): number[] {
  const period = Math.floor(nowMs / periodMs);
  const past = Array.from({ length: PERIODS_IN_WINDOW }, (_, back) => period - 1 - back);
  return Math.floor((nowMs + CLOCKS_MS) / periodMs) > period ? [period + 1, ...past] : past;
}

/** The keys of a period live as long as those that a claim at its end would have made. */
function restored(claim: PastClaim, nowMs: number, periodMs: number): (string | number)[] {
  const period = Math.floor(claim.claimedAtMs / periodMs);
  const endMs = (period + PERIODS_IN_WINDOW + 2) * periodMs;
  return [claim.bucket, claim.field, claim.coordinate, period, Math.max(1, Math.ceil((endMs - nowMs) / 1000))];
}

function shards<T extends Claim>(claims: readonly T[]): [prefix: string, members: Member<T>[]][] {
  const groups = Map.groupBy(
    claims.map((claim, index) => ({ claim, index })),
    ({ claim }) => claim.bucket.charAt(0),
  );
  return [...groups].map(([shard, members]) => [shardPrefix(shard), members]);
}
