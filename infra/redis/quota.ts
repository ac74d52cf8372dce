import type { Redis } from 'ioredis';
import type { QuotaStore, SettledUsage, Settlement } from '#pipelines/quota/settle.ts';
import { createScript } from './script.ts';

/** A month's counter outlives the month long enough for late settlement. */
const MONTH_TTL_S = 70 * 86_400;

/** Key of an account's month; its hash tag keeps what one script needs on one node. */
export function quotaKey(accountId: string, month: string): string {
  return `q:{${accountId}}:${month}`;
}

/** Counters of usage; the settled offset lies in the same hash, so that settling twice adds once. */
export function createQuotaStore(redis: Redis): QuotaStore {
  const script = createScript(redis, 'settle.lua');
  async function settleOne(settlement: Settlement): Promise<SettledUsage> {
    const args: (string | number)[] = [settlement.partition, MONTH_TTL_S];
    for (const { offset, count } of settlement.records) args.push(offset, count);
    const [used, settledOffset] = (await script.run([quotaKey(settlement.accountId, settlement.month)], args)) as [
      number,
      number,
    ];
    return { used, settledOffset };
  }
  return { settle: (settlements) => Promise.all(settlements.map(settleOne)) };
}
