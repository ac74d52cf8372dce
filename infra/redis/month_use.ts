import type { Logger } from '#infra/log/logger.ts';
import { monthOf } from '#pipelines/quota/month.ts';
import { asked, type Redis } from './client.ts';
import { CHECKPOINTS_KEY, quotaKey } from './quota_keys.ts';

/** What is known of how much of this month accounts have used. */
export interface MonthUseView {
  /** Reads anew, unless that was done just now. While Redis does not know, nothing is known. */
  refresh(accountIds: readonly string[]): Promise<void>;
  /** Events of an account that were settled this month (UTC); null where that is not known. */
  used(accountId: string): number | null;
}

/** A page of accounts, and the next, are shown from one reading. */
const FRESH_MS = 500;
const ACCOUNTS_PER_CALL = 1_000;

export function createMonthUseView(
  redis: Redis,
  logger: Logger,
  nowMs: () => number,
  monotonicMs: () => number,
): MonthUseView {
  let uses: ReadonlyMap<string, number> = new Map();
  let readAtMs = Number.NEGATIVE_INFINITY;

  async function read(accountIds: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    // Without checkpoints the counters are not restored yet, and every account would seem to have used nothing.
    if ((await asked(redis.hlen(CHECKPOINTS_KEY))) === 0) return found;
    const month = monthOf(nowMs());
    for (let from = 0; from < accountIds.length; from += ACCOUNTS_PER_CALL) {
      const some = accountIds.slice(from, from + ACCOUNTS_PER_CALL);
      const used = await Promise.all(some.map((accountId) => asked(redis.hget(quotaKey(accountId, month), 'used'))));
      some.forEach((accountId, at) => {
        found.set(accountId, Number(used[at] ?? '0'));
      });
    }
    return found;
  }

  return {
    async refresh(accountIds) {
      if (monotonicMs() - readAtMs < FRESH_MS) return;
      try {
        uses = await read(accountIds);
      } catch (error) {
        logger.warn({ err: error }, 'how much of the month is used is not known');
        uses = new Map();
      }
      readAtMs = monotonicMs();
    },
    used: (accountId) => uses.get(accountId) ?? null,
  };
}
