// Settled use of months: written by the quota process, read by the control service.
import type { Logger } from '#infra/log/logger.ts';
import { monthOf } from '#pipelines/quota/limits.ts';
import {
  type AccountMonth,
  isSameTopic,
  type QuotaStore,
  type Settled,
  type SettledUsage,
  type Settlement,
} from '#pipelines/quota/settle.ts';
import { createScript, withRedisErrors } from '../client.ts';
import type { Redis } from '../connection.ts';
import { readMasters } from '../indexes/index_epoch.ts';
import { CHECKPOINTS_KEY, GENERATIONS_KEY, LEASES_KEY, MASTERS_KEY, MONTH_TTL_S, quotaKey } from './admission.ts';

/** Months of accounts that Redis is asked about at once: it answers so many within the time that one command may take. */
const MONTHS_AT_ONCE = 500;

/**
 * Counters of usage, a hash for each account's month: `used` and `held` in all; `u:P` and `s:P` what is used and settled of
 * a partition, `l:P` the id of the topic that the offset is of; `h:LEASE` what is reserved under a lease. The settled
 * offset lies in the same hash, so that settling twice adds once.
 */
export function createQuotaStore(redis: Redis): QuotaStore {
  const settleScript = createScript(redis, 'quota/settle.lua');
  const checkpointScript = createScript(redis, 'quota/checkpoint.lua');
  const releaseScript = createScript(redis, 'quota/release.lua');
  const dropScript = createScript(redis, 'quota/drop_reservations.lua');
  const leaseScript = createScript(redis, 'quota/lease.lua');
  const mastersScript = createScript(redis, 'quota/masters.lua');
  const releaseExpiredLease = async ({ accountId, month }: AccountMonth, lease: string): Promise<number> =>
    (await releaseScript.run([quotaKey(accountId, month)], [lease, -1])) as number;
  /** A server has lost the checkpoint where it lost a month's last writes; a node of a cluster need not have it. */
  async function noteMasters(): Promise<void> {
    const lives = [...(await readMasters(redis)).values()].flatMap((master) => [master.runId, master.formerStreamId]);
    await mastersScript.run([MASTERS_KEY, GENERATIONS_KEY], lives);
  }

  return {
    async settle(settlement, known) {
      const key = quotaKey(settlement.accountId, settlement.month);
      const answer = await settleScript.run([key], settleArguments(settlement, known));
      const [used, settledOffset, released, log] = answer as [number, number, number, string];
      return { used, settledOffset, released, log } satisfies Settled;
    },
    async begin(partition, generation) {
      await withRedisErrors(redis.hset(GENERATIONS_KEY, String(partition), generation));
    },
    async checkpoint(partition, nextOffset, generation) {
      return (
        (await checkpointScript.run([CHECKPOINTS_KEY, GENERATIONS_KEY], [partition, nextOffset, generation])) === 1
      );
    },
    async checkpoints() {
      if (redis.isCluster) await noteMasters();
      const generations = await withRedisErrors(redis.hgetall(GENERATIONS_KEY));
      const checkpoints = await withRedisErrors(redis.hgetall(CHECKPOINTS_KEY));
      return new Map(
        Object.entries(checkpoints).map(([partition, offset]) => [
          Number(partition),
          { nextOffset: Number(offset), generation: generations[partition] ?? '' },
        ]),
      );
    },
    expiredLeases: async () => (await leaseScript.run([LEASES_KEY, CHECKPOINTS_KEY], [0])) as string[],
    async releaseUnused(months, lease) {
      let events = 0;
      for (let at = 0; at < months.length; at += MONTHS_AT_ONCE) {
        const some = months.slice(at, at + MONTHS_AT_ONCE);
        for (const given of await Promise.all(some.map((month) => releaseExpiredLease(month, lease)))) events += given;
      }
      return events;
    },
    async dropReservations({ accountId, month }) {
      await dropScript.run([quotaKey(accountId, month)], []);
    },
    async forgetLease(lease) {
      await withRedisErrors(redis.zrem(LEASES_KEY, lease));
    },
  };
}

function settleArguments({ partition, log, ranges }: Settlement, known: SettledUsage): (string | number)[] {
  const knownOffset = isSameTopic(log, known.log) ? known.settledOffset : 0;
  const args: (string | number)[] = [partition, MONTH_TTL_S, known.used, knownOffset, log];
  for (const { nextOffset, unique, arrived } of ranges) {
    args.push(nextOffset, unique, arrived.length);
    for (const { lease, events } of arrived) args.push(lease, events);
  }
  return args;
}

export type MonthUseView = ReturnType<typeof createMonthUseView>;

/** A page of accounts, and the next, are shown from one reading. */
const FRESH_MS = 500;
const ACCOUNTS_PER_CALL = 1_000;

export function createMonthUseView(redis: Redis, logger: Logger, nowMs: () => number, monotonicMs: () => number) {
  let uses: ReadonlyMap<string, number> = new Map();
  let readAtMs = Number.NEGATIVE_INFINITY;

  async function read(accountIds: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    // Without checkpoints the counters are not restored yet, and every account would seem to have used nothing.
    if ((await withRedisErrors(redis.hlen(CHECKPOINTS_KEY))) === 0) return found;
    const month = monthOf(nowMs());
    for (let from = 0; from < accountIds.length; from += ACCOUNTS_PER_CALL) {
      const some = accountIds.slice(from, from + ACCOUNTS_PER_CALL);
      const used = await Promise.all(
        some.map((accountId) => withRedisErrors(redis.hget(quotaKey(accountId, month), 'used'))),
      );
      some.forEach((accountId, at) => {
        found.set(accountId, Number(used[at] ?? '0'));
      });
    }
    return found;
  }

  return {
    /** Reads anew, unless that was done just now. While Redis does not know, nothing is known. */
    async refresh(accountIds: readonly string[]): Promise<void> {
      if (monotonicMs() - readAtMs < FRESH_MS) return;
      try {
        uses = await read(accountIds);
      } catch (error) {
        logger.warn({ err: error }, 'monthly usage unavailable');
        uses = new Map();
      }
      readAtMs = monotonicMs();
    },
    /** Events of an account that were settled this month (UTC); null where that is not known. */
    used: (accountId: string): number | null => uses.get(accountId) ?? null,
  };
}
