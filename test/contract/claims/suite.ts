import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DedupKey, type DedupStore, dedupKey } from '#pipelines/dedup/dedup.ts';
import { cases } from '#test/harness/environment.ts';

export const DAY_MS = 86_400_000;
export const WINDOW_MS = 8 * DAY_MS;
const START_MS = Date.UTC(2026, 9, 1);
export const BUCKET_CHARS = 2;

/** A claim of an id by the event at an offset. */
export function claim(eventId: string, offset: number): DedupKey {
  return dedupKey('shop', eventId, { partition: 0, offset, index: 0 }, BUCKET_CHARS);
}

/** A store whose clock a test sets with each call. */
export interface TimedClaims {
  claim(claims: readonly DedupKey[], nowMs: number): Promise<(string | null)[]>;
}

/** The store that `open` makes, which goes by the clock it is given. */
export function timedClaims(open: (nowMs: () => number) => DedupStore): TimedClaims {
  let atMs = START_MS;
  const store = open(() => atMs);
  return {
    claim(claims, nowMs) {
      atMs = nowMs;
      return store.claim(claims);
    },
  };
}

/** What every claim store must do. `create` gives a store with a window of WINDOW_MS in which nothing is claimed. */
export function claimStoreSuite(name: string, create: () => TimedClaims): void {
  describe(name, () => {
    test('the first event of an id holds it from then on', async () => {
      const store = create();
      expect(await store.claim([claim('a', 1)], START_MS)).toEqual([null]);
      expect(await store.claim([claim('a', 2)], START_MS)).toEqual(['0:1:0']);
      expect(await store.claim([claim('a', 3)], START_MS + DAY_MS)).toEqual(['0:1:0']);
    });

    test('an event that asks again finds its own coordinate', async () => {
      const store = create();
      await store.claim([claim('a', 1)], START_MS);
      expect(await store.claim([claim('a', 1)], START_MS)).toEqual(['0:1:0']);
    });

    test('of two in one call the first holds', async () => {
      const store = create();
      expect(await store.claim([claim('a', 1), claim('b', 2), claim('a', 3)], START_MS)).toEqual([null, null, '0:1:0']);
    });

    test('answers come in the order of the questions', async () => {
      const store = create();
      const held = Array.from({ length: 300 }, (_, index) => claim(`id-${index}`, index));
      const odd = held.filter((_, index) => index % 2 === 1);
      expect(await store.claim(odd, START_MS)).toEqual(odd.map(() => null));
      const again = held.map((one) => ({ ...one, coordinate: 'later' }));
      const holders = await store.claim(again, START_MS);
      expect(holders).toEqual(held.map(({ coordinate }, index) => (index % 2 === 1 ? coordinate : null)));
    });

    test('sites do not share ids', async () => {
      const store = create();
      const other = dedupKey('other', 'a', { partition: 0, offset: 2, index: 0 }, BUCKET_CHARS);
      expect(await store.claim([claim('a', 1), other], START_MS)).toEqual([null, null]);
    });

    test('a claim lasts the whole window and not twice as long', async () => {
      for (const startedMs of [START_MS, START_MS + 1, START_MS + 3.99 * DAY_MS]) {
        const store = create();
        await store.claim([claim('a', 1), claim('b', 2)], startedMs);
        expect(await store.claim([claim('a', 9)], startedMs + WINDOW_MS)).toEqual(['0:1:0']);
        expect(await store.claim([claim('b', 9)], startedMs + 2 * WINDOW_MS)).toEqual([null]);
      }
    });

    test('a claim is seen after the clock was set back', async () => {
      const ahead = [1, 1_000, 60_000, 30 * 60_000, DAY_MS];
      for (const aheadMs of ahead) {
        for (let at = 0; at <= WINDOW_MS; at += WINDOW_MS / 8) {
          const store = create();
          await store.claim([claim('a', 1)], START_MS + at + aheadMs / 2);
          expect(await store.claim([claim('a', 2)], START_MS + at - aheadMs / 2)).toEqual(['0:1:0']);
        }
      }
    });

    test('within a window an id is new once, however it is asked for', async () => {
      const step = fc.record({
        id: fc.integer({ min: 0, max: 3 }),
        afterMs: fc.integer({ min: 0, max: WINDOW_MS / 2 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
          const store = create();
          const newAt = new Map<number, number>();
          let nowMs = START_MS;
          for (const [offset, { id, afterMs }] of steps.entries()) {
            nowMs += afterMs;
            const [holder] = await store.claim([claim(`id-${id}`, offset)], nowMs);
            const last = newAt.get(id);
            if (holder === null && last !== undefined) expect(nowMs - last).toBeGreaterThan(WINDOW_MS);
            if (holder === null) newAt.set(id, nowMs);
            else expect(last).toBeDefined();
          }
        }),
        { numRuns: cases(60) },
      );
    });
  });
}
