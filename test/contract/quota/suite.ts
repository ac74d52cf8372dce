import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { QuotaStore, SettledRecord, Settlement } from '#pipelines/quota/settle.ts';

const MONTH = '2026-10';

function settlement(accountId: string, partition: number, records: SettledRecord[], month = MONTH): Settlement {
  return { accountId, month, partition, records, newestMs: 0 };
}

/** What every store of usage must do. `usedIn` tells an account's month over all partitions. */
export function quotaStoreSuite(
  name: string,
  create: () => QuotaStore,
  usedIn: (accountId: string, month: string) => Promise<number>,
): void {
  describe(name, () => {
    test('what is settled twice counts once', async () => {
      const store = create();
      const batch = [settlement(randomUUID(), 0, [{ offset: 4, count: 3 }])];
      expect(await store.settle(batch)).toEqual([{ used: 3, settledOffset: 5 }]);
      expect(await store.settle(batch)).toEqual([{ used: 3, settledOffset: 5 }]);
    });

    test('partitions, months and accounts count by themselves, and an account in all', async () => {
      const store = create();
      const [account, other] = [randomUUID(), randomUUID()];
      const settled = await store.settle([
        settlement(account, 0, [{ offset: 0, count: 1 }]),
        settlement(account, 1, [{ offset: 0, count: 10 }]),
        settlement(account, 0, [{ offset: 0, count: 100 }], '2026-11'),
        settlement(other, 0, [{ offset: 0, count: 1_000 }]),
      ]);
      expect(settled.map(({ used }) => used)).toEqual([1, 10, 100, 1_000]);
      expect(await usedIn(account, MONTH)).toBe(11);
      expect(await usedIn(account, '2026-11')).toBe(100);
      expect(await usedIn(other, MONTH)).toBe(1_000);
    });

    test('records that overlap and are cut otherwise count once each', async () => {
      await fc.assert(
        fc.asyncProperty(recordLists(), fc.array(fc.nat(), { maxLength: 12 }), async (records, numbers) => {
          const store = create();
          const account = randomUUID();
          let done = 0;
          for (const number of numbers) {
            // A restart goes back to some offset already settled; a batch may end anywhere.
            const from = number % (done + 1);
            const to = Math.min(records.length, from + 1 + (number % 5));
            if (to > from) await store.settle([settlement(account, 2, records.slice(from, to))]);
            done = Math.max(done, to);
          }
          const [settled] = await store.settle([settlement(account, 2, records)]);
          const sum = records.reduce((all, { count }) => all + count, 0);
          expect(settled).toEqual({ used: sum, settledOffset: (records.at(-1)?.offset ?? 0) + 1 });
          expect(await usedIn(account, MONTH)).toBe(sum);
        }),
        { numRuns: 100 },
      );
    });
  });
}

/** Records with gaps between their offsets, as the account has no events in every record. */
function recordLists(): fc.Arbitrary<SettledRecord[]> {
  const one = fc.record({ gap: fc.integer({ min: 1, max: 3 }), count: fc.integer({ min: 1, max: 50 }) });
  return fc.array(one, { minLength: 1, maxLength: 12 }).map((ones) => {
    let offset = -1;
    return ones.map(({ gap, count }) => {
      offset += gap;
      return { offset, count };
    });
  });
}
