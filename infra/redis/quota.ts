import type { AccountMonth, QuotaStore, Settled, SettledUsage, Settlement } from '#pipelines/quota/settle.ts';
import { asked, type Redis } from './client.ts';
import { GENERATIONS_KEY, LEASES_KEY, MARKS_KEY, MONTH_TTL_S, quotaKey } from './quota_keys.ts';
import { createScript } from './script.ts';

/**
 * Counters of usage, a hash for each account's month: `used` and `held` in all; `u:P` and `s:P` what is used and settled of a
 * partition; `h:H` what is held under a hold. The settled offset lies in the same hash, so that settling twice adds once.
 */
export function createQuotaStore(redis: Redis): QuotaStore {
  const settleScript = createScript(redis, 'settle.lua');
  const markScript = createScript(redis, 'mark.lua');
  const releaseScript = createScript(redis, 'release.lua');
  const dropScript = createScript(redis, 'drop_holds.lua');
  const leaseScript = createScript(redis, 'lease.lua');
  const giveBackOne = async ({ accountId, month }: AccountMonth, hold: string): Promise<number> =>
    (await releaseScript.run([quotaKey(accountId, month)], [hold, -1])) as number;
  return {
    async settle(settlement, known) {
      const key = quotaKey(settlement.accountId, settlement.month);
      const answer = await settleScript.run([key], settleArguments(settlement, known));
      const [used, settledOffset, released] = answer as [number, number, number];
      return { used, settledOffset, released } satisfies Settled;
    },
    async begin(partition, generation) {
      await asked(redis.hset(GENERATIONS_KEY, String(partition), generation));
    },
    async mark(partition, nextOffset, generation) {
      return (await markScript.run([MARKS_KEY, GENERATIONS_KEY], [partition, nextOffset, generation])) === 1;
    },
    async marks() {
      const generations = await asked(redis.hgetall(GENERATIONS_KEY));
      const marks = await asked(redis.hgetall(MARKS_KEY));
      return new Map(
        Object.entries(marks).map(([partition, offset]) => [
          Number(partition),
          { nextOffset: Number(offset), generation: generations[partition] ?? '' },
        ]),
      );
    },
    deadHolds: async () => (await leaseScript.run([LEASES_KEY, MARKS_KEY], [0])) as string[],
    async giveBack(months, hold) {
      const given = await Promise.all(months.map((month) => giveBackOne(month, hold)));
      return given.reduce((sum, events) => sum + events, 0);
    },
    async dropHolds({ accountId, month }) {
      await dropScript.run([quotaKey(accountId, month)], []);
    },
    async forgetHold(hold) {
      await asked(redis.zrem(LEASES_KEY, hold));
    },
  };
}

function settleArguments({ partition, stretches }: Settlement, known: SettledUsage): (string | number)[] {
  const args: (string | number)[] = [partition, MONTH_TTL_S, known.used, known.settledOffset];
  for (const { nextOffset, unique, arrived } of stretches) {
    args.push(nextOffset, unique, arrived.length);
    for (const { hold, events } of arrived) args.push(hold, events);
  }
  return args;
}
