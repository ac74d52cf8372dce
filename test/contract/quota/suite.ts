import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOTHING_SETTLED, type QuotaStore, type SettledRange, type Settlement } from '#pipelines/quota/settle.ts';
import { cases } from '#test/harness/environment.ts';

const MONTH = '2026-10';

/** What a test asks of the counter beside the port. */
export interface CounterView {
  reserve(accountId: string, month: string, lease: string, events: number): Promise<void>;
  counted(accountId: string, month: string): Promise<{ used: number; held: number }>;
  /** Loses everything. */
  lose(): Promise<void>;
}

function settlement(accountId: string, partition: number, ranges: SettledRange[], month = MONTH, log = ''): Settlement {
  return { accountId, month, partition, log, ranges, newestMs: 0 };
}

function range(nextOffset: number, unique: number, arrived: SettledRange['arrived'] = []): SettledRange {
  return { nextOffset, unique, arrived };
}

/** What every store of usage must do. */
export function quotaStoreSuite(name: string, create: () => QuotaStore, view: () => CounterView): void {
  describe(name, () => {
    test('what is settled twice counts once', async () => {
      const store = create();
      const batch = settlement(randomUUID(), 0, [range(5, 3)]);
      expect(await store.settle(batch, NOTHING_SETTLED)).toMatchObject({ used: 3, settledOffset: 5 });
      expect(await store.settle(batch, NOTHING_SETTLED)).toMatchObject({ used: 3, settledOffset: 5, released: 0 });
    });

    test('partitions, months and accounts count by themselves, and an account in all', async () => {
      const store = create();
      const [account, other] = [randomUUID(), randomUUID()];
      const settled = [
        await store.settle(settlement(account, 0, [range(1, 1)]), NOTHING_SETTLED),
        await store.settle(settlement(account, 1, [range(1, 10)]), NOTHING_SETTLED),
        await store.settle(settlement(account, 0, [range(1, 100)], '2026-11'), NOTHING_SETTLED),
        await store.settle(settlement(other, 0, [range(1, 1_000)]), NOTHING_SETTLED),
      ];
      expect(settled.map(({ used }) => used)).toEqual([1, 10, 100, 1_000]);
      expect(await view().counted(account, MONTH)).toMatchObject({ used: 11 });
      expect(await view().counted(account, '2026-11')).toMatchObject({ used: 100 });
      expect(await view().counted(other, MONTH)).toMatchObject({ used: 1_000 });
    });

    test('what arrived is held no longer, duplicates too, and only once', async () => {
      const store = create();
      const account = randomUUID();
      await view().reserve(account, MONTH, 'one', 10);
      await view().reserve(account, MONTH, 'two', 5);
      const batch = settlement(account, 0, [
        range(4, 3, [{ lease: 'one', events: 6 }]),
        range(9, 2, [
          { lease: 'one', events: 1 },
          { lease: 'two', events: 5 },
        ]),
      ]);
      expect(await store.settle(batch, NOTHING_SETTLED)).toEqual({ used: 5, settledOffset: 9, log: '', released: 12 });
      expect(await store.settle(batch, NOTHING_SETTLED)).toEqual({ used: 5, settledOffset: 9, log: '', released: 0 });
      expect(await view().counted(account, MONTH)).toEqual({ used: 5, held: 3 });
    });

    test('of a topic that was made anew nothing is settled yet, and what was used stays', async () => {
      const store = create();
      const account = randomUUID();
      const earlier = settlement(account, 0, [range(1_000, 3)], MONTH, 'earlier');
      expect(await store.settle(earlier, NOTHING_SETTLED)).toMatchObject({ used: 3, settledOffset: 1_000 });
      await view().reserve(account, MONTH, 'living', 10);
      const anew = settlement(account, 0, [range(10, 4, [{ lease: 'living', events: 6 }])], MONTH, 'anew');
      const settled = { used: 7, settledOffset: 10, log: 'anew' };
      const known = { used: 3, settledOffset: 1_000, log: 'earlier' };
      expect(await store.settle(anew, known)).toEqual({ ...settled, released: 6 });
      expect(await store.settle(anew, settled)).toEqual({ ...settled, released: 0 });
      expect(await view().counted(account, MONTH)).toEqual({ used: 7, held: 4 });
      await view().lose();
      expect(await store.settle(anew, known)).toEqual({ ...settled, released: 0 });
    });

    test('an offset of which it is not known what topic it is of is of the one that is there', async () => {
      const store = create();
      const account = randomUUID();
      await store.settle(settlement(account, 0, [range(5, 3)]), NOTHING_SETTLED);
      const named = settlement(account, 0, [range(5, 3), range(7, 1)], MONTH, 'one');
      expect(await store.settle(named, NOTHING_SETTLED)).toMatchObject({ used: 4, settledOffset: 7, log: 'one' });
      const nameless = settlement(account, 0, [range(7, 1), range(8, 1)]);
      expect(await store.settle(nameless, NOTHING_SETTLED)).toMatchObject({ used: 5, settledOffset: 8, log: 'one' });
    });

    test('no more is released than is held', async () => {
      const store = create();
      const account = randomUUID();
      await view().reserve(account, MONTH, 'one', 2);
      const batch = settlement(account, 0, [range(4, 3, [{ lease: 'one', events: 6 }])]);
      expect(await store.settle(batch, NOTHING_SETTLED)).toMatchObject({ released: 2 });
      expect(await view().counted(account, MONTH)).toEqual({ used: 3, held: 0 });
    });

    test('what a lease still holds is given back once', async () => {
      const store = create();
      const [account, other] = [randomUUID(), randomUUID()];
      const lease = randomUUID();
      await view().reserve(account, MONTH, lease, 7);
      await view().reserve(account, MONTH, 'living', 1);
      await view().reserve(other, '2026-11', lease, 2);
      const months = [
        { accountId: account, month: MONTH },
        { accountId: other, month: '2026-11' },
        { accountId: other, month: MONTH },
      ];
      expect(await store.releaseUnused(months, lease)).toBe(9);
      expect(await store.releaseUnused(months, lease)).toBe(0);
      expect(await view().counted(account, MONTH)).toEqual({ used: 0, held: 1 });
      expect(await view().counted(other, '2026-11')).toEqual({ used: 0, held: 0 });
    });

    test('what was lost is put back before more is added', async () => {
      const store = create();
      const account = randomUUID();
      const before = await store.settle(settlement(account, 0, [range(5, 3)]), NOTHING_SETTLED);
      await store.begin(0, 'me');
      expect(await store.checkpoint(0, 5, 'me')).toBe(true);
      await view().lose();
      expect(await store.checkpoints()).toEqual(new Map());
      const after = await store.settle(settlement(account, 0, [range(7, 2)]), before);
      expect(after).toMatchObject({ used: 5, settledOffset: 7 });
      expect(await view().counted(account, MONTH)).toEqual({ used: 5, held: 0 });
    });

    test('checkpoints are kept by partition', async () => {
      const store = create();
      await view().lose();
      for (const partition of [0, 3]) await store.begin(partition, 'me');
      for (const [partition, offset] of [
        [0, 5],
        [3, 1],
        [0, 8],
      ] as const) {
        expect(await store.checkpoint(partition, offset, 'me')).toBe(true);
      }
      expect(await store.checkpoints()).toEqual(
        new Map([
          [0, { nextOffset: 8, generation: 'me' }],
          [3, { nextOffset: 1, generation: 'me' }],
        ]),
      );
    });

    test('a checkpoint that would hide a loss is refused', async () => {
      const store = create();
      await view().lose();
      expect(await store.checkpoint(0, 5, 'me')).toBe(false);
      await store.begin(0, 'me');
      await view().lose();
      expect(await store.checkpoint(0, 5, 'me')).toBe(false);
      await store.begin(0, 'another');
      expect(await store.checkpoint(0, 5, 'me')).toBe(false);
      expect(await store.checkpoints()).toEqual(new Map());
    });

    test('ranges that overlap and are cut otherwise count once each', async () => {
      await fc.assert(
        fc.asyncProperty(rangeLists(), fc.array(fc.nat(), { maxLength: 12 }), async (ranges, numbers) => {
          const store = create();
          const account = randomUUID();
          let known = NOTHING_SETTLED;
          let done = 0;
          for (const number of numbers) {
            // A restart goes back to some offset already settled; a batch may end anywhere, and the counter be lost.
            const from = number % (done + 1);
            const to = Math.min(ranges.length, from + 1 + (number % 5));
            if (number % 4 === 0) await view().lose();
            if (to > from) known = await store.settle(settlement(account, 2, ranges.slice(from, to)), known);
            done = Math.max(done, to);
          }
          const settled = await store.settle(settlement(account, 2, ranges), known);
          const sum = ranges.reduce((all, { unique }) => all + unique, 0);
          expect(settled).toMatchObject({ used: sum, settledOffset: ranges.at(-1)?.nextOffset ?? 0 });
          expect(await view().counted(account, MONTH)).toMatchObject({ used: sum });
        }),
        { numRuns: cases(100) },
      );
    });
  });
}

/** Ranges with gaps between their offsets, as the account has no events in every record. */
function rangeLists(): fc.Arbitrary<SettledRange[]> {
  const one = fc.record({ gap: fc.integer({ min: 1, max: 3 }), unique: fc.integer({ min: 0, max: 50 }) });
  return fc.array(one, { minLength: 1, maxLength: 12 }).map((ones) => {
    let offset = 0;
    return ones.map(({ gap, unique }) => {
      offset += gap;
      return range(offset, unique);
    });
  });
}
