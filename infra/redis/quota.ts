import {
  type AccountMonth,
  isSameLog,
  type QuotaStore,
  type Settled,
  type SettledUsage,
  type Settlement,
} from '#pipelines/quota/settle.ts';
import { asked, type Redis } from './client.ts';
import { createScript } from './lua_script.ts';
import { CHECKPOINTS_KEY, GENERATIONS_KEY, LEASES_KEY, MONTH_TTL_S, quotaKey } from './quota_keys.ts';

/** Months of accounts that Redis is asked about at once: it answers so many within the time that one command may take. */
const MONTHS_AT_ONCE = 500;

/**
 * Counters of usage, a hash for each account's month: `used` and `held` in all; `u:P` and `s:P` what is used and settled of a
 * partition, `l:P` the id of the topic that the offset is of; `h:LEASE` what is reserved under a lease. The settled offset lies in the same hash, so that settling twice adds once.
 */
export function createQuotaStore(redis: Redis): QuotaStore {
  const settleScript = createScript(redis, 'settle.lua');
  const checkpointScript = createScript(redis, 'checkpoint.lua');
  const releaseScript = createScript(redis, 'release.lua');
  const dropScript = createScript(redis, 'drop_reservations.lua');
  const leaseScript = createScript(redis, 'lease.lua');
  const giveBackOne = async ({ accountId, month }: AccountMonth, lease: string): Promise<number> =>
    (await releaseScript.run([quotaKey(accountId, month)], [lease, -1])) as number;
  return {
    async settle(settlement, known) {
      const key = quotaKey(settlement.accountId, settlement.month);
      const answer = await settleScript.run([key], settleArguments(settlement, known));
      const [used, settledOffset, released, log] = answer as [number, number, number, string];
      return { used, settledOffset, released, log } satisfies Settled;
    },
    async begin(partition, generation) {
      await asked(redis.hset(GENERATIONS_KEY, String(partition), generation));
    },
    async checkpoint(partition, nextOffset, generation) {
      return (
        (await checkpointScript.run([CHECKPOINTS_KEY, GENERATIONS_KEY], [partition, nextOffset, generation])) === 1
      );
    },
    async checkpoints() {
      const generations = await asked(redis.hgetall(GENERATIONS_KEY));
      const checkpoints = await asked(redis.hgetall(CHECKPOINTS_KEY));
      return new Map(
        Object.entries(checkpoints).map(([partition, offset]) => [
          Number(partition),
          { nextOffset: Number(offset), generation: generations[partition] ?? '' },
        ]),
      );
    },
    deadLeases: async () => (await leaseScript.run([LEASES_KEY, CHECKPOINTS_KEY], [0])) as string[],
    async giveBack(months, lease) {
      let events = 0;
      for (let at = 0; at < months.length; at += MONTHS_AT_ONCE) {
        const some = months.slice(at, at + MONTHS_AT_ONCE);
        for (const given of await Promise.all(some.map((month) => giveBackOne(month, lease)))) events += given;
      }
      return events;
    },
    async dropReservations({ accountId, month }) {
      await dropScript.run([quotaKey(accountId, month)], []);
    },
    async forgetLease(lease) {
      await asked(redis.zrem(LEASES_KEY, lease));
    },
  };
}

function settleArguments({ partition, log, ranges }: Settlement, known: SettledUsage): (string | number)[] {
  const knownOffset = isSameLog(log, known.log) ? known.settledOffset : 0;
  const args: (string | number)[] = [partition, MONTH_TTL_S, known.used, knownOffset, log];
  for (const { nextOffset, unique, arrived } of ranges) {
    args.push(nextOffset, unique, arrived.length);
    for (const { lease, events } of arrived) args.push(lease, events);
  }
  return args;
}
