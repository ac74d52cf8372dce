import type { Redis } from 'ioredis';
import type { Claim, ClaimStore } from '#pipelines/dedup/claim.ts';
import { createScript, type Script } from './script.ts';

export interface ClaimOptions {
  /** How long an id stays claimed at least; 8 days cover reports that come up to 7 days late. */
  windowMs: number;
  /** Claims of a script call must meet on one node: in a cluster they are cut by the bucket's first character. */
  cluster: boolean;
}

/** The window is looked at in this many whole periods and the one that runs. */
const PERIODS_IN_WINDOW = 2;

/**
 * Claims packed into small hashes, a hash per period and bucket: 29 bytes a claim while a hash stays below Redis's
 * listpack limit, against 161 for a key of its own. Redis 7.0 has no expiry per field, so whole periods expire.
 */
export function createClaimStore(redis: Redis, options: ClaimOptions): ClaimStore {
  const script = createScript(redis, 'claim.lua');
  const periodMs = options.windowMs / PERIODS_IN_WINDOW;
  return {
    async claim(claims, nowMs) {
      const window = windowAt(nowMs, periodMs);
      if (!options.cluster) return ask(script, 'c:', window, claims);
      const answers: (string | null)[] = new Array(claims.length).fill(null);
      await Promise.all(
        [...shards(claims)].map(async ([shard, members]) => {
          const held = await ask(
            script,
            `c:{${shard}}:`,
            window,
            members.map(({ claim }) => claim),
          );
          members.forEach(({ index }, at) => {
            answers[index] = held[at] ?? null;
          });
        }),
      );
      return answers;
    },
  };
}

type Window = [period: number, periods: number, ttlSeconds: number];

function windowAt(nowMs: number, periodMs: number): Window {
  const ttlMs = periodMs * (PERIODS_IN_WINDOW + 1);
  return [Math.floor(nowMs / periodMs), PERIODS_IN_WINDOW + 1, Math.ceil(ttlMs / 1000)];
}

async function ask(
  script: Script,
  prefix: string,
  window: Window,
  claims: readonly Claim[],
): Promise<(string | null)[]> {
  const args: (string | number)[] = [...window];
  for (const { bucket, field, coordinate } of claims) args.push(bucket, field, coordinate);
  return (await script.run([prefix], args)) as (string | null)[];
}

function shards(claims: readonly Claim[]): Map<string, { claim: Claim; index: number }[]> {
  const groups = new Map<string, { claim: Claim; index: number }[]>();
  claims.forEach((claim, index) => {
    const shard = claim.bucket.charAt(0);
    const group = groups.get(shard) ?? [];
    group.push({ claim, index });
    groups.set(shard, group);
  });
  return groups;
}
