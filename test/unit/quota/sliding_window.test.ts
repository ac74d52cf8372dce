import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemoryLimits, type MemoryLimits } from '#pipelines/quota/limits.ts';
import { cases } from '#test/harness/environment.ts';

const WINDOW_MS = 1_000;
const SLICE_MS = WINDOW_MS / 10;
const START_MS = 1_790_000_000_000;
const RUNS = { numRuns: cases(300) };

const limitsOf = (perIp: number, perKey: number): MemoryLimits =>
  createMemoryLimits({ windowMs: WINDOW_MS, perIp, perKey });

interface Asked {
  afterMs: number;
  address: string | null;
  key: string | null;
  keyLimit: number | null;
}

const askedLists = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 2_500 })),
    address: fc.constantFrom('a', 'b', null),
    key: fc.constantFrom('a', 'k', null),
    keyLimit: fc.constantFrom(null, null, 1, 4),
  }),
  { minLength: 1, maxLength: 60 },
);
const limits = fc.integer({ min: 0, max: 5 });

/** The same said slowly: all that passed is kept, and counted by the slice it came in. */
function createModel(perIp: number, perKey: number) {
  const passed: { address: string | null; key: string | null; slice: number }[] = [];
  return ({ address, key, keyLimit }: Asked, nowMs: number): object => {
    const slice = Math.floor(nowMs / SLICE_MS);
    const counted = passed.filter((one) => one.slice >= slice - 10);
    const most = keyLimit ?? perKey;
    const ofAddress = address === null || perIp === 0 ? null : counted.filter((one) => one.address === address);
    const ofKey = key === null || most === 0 ? null : counted.filter((one) => one.key === key);
    const rateOf = (limit: number, count: number) => ({ limit, remaining: limit - count, resetMs: expect.any(Number) });
    const full = (limit: number) => ({ limit, remaining: 0, resetMs: expect.any(Number) });
    if (ofAddress !== null && ofAddress.length >= perIp) return { ok: false, kind: 'ip', rate: full(perIp) };
    if (ofKey !== null && ofKey.length >= most) return { ok: false, kind: 'key', rate: full(most) };
    // What is not limited is not counted: a limit of its own that comes later begins at nothing.
    passed.push({ address: ofAddress === null ? null : address, key: ofKey === null ? null : key, slice });
    const byAddress = ofAddress === null ? null : rateOf(perIp, ofAddress.length + 1);
    const byKey = ofKey === null ? null : rateOf(most, ofKey.length + 1);
    if (byAddress === null || byKey === null) return { ok: true, rate: byAddress ?? byKey };
    return { ok: true, rate: byAddress.remaining <= byKey.remaining ? byAddress : byKey };
  };
}

describe('requests in a window', () => {
  test('pass, are refused and leave what a count of all that passed says', () => {
    fc.assert(
      fc.property(limits, limits, askedLists, (perIp, perKey, asked) => {
        const memory = limitsOf(perIp, perKey);
        const model = createModel(perIp, perKey);
        let nowMs = START_MS;
        for (const one of asked) {
          nowMs += one.afterMs;
          expect(memory.take(one.address, one.key, nowMs, one.keyLimit)).toMatchObject(model(one, nowMs));
        }
      }),
      RUNS,
    );
  });

  test('are never more than the limit in any span of its length', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(300), { maxLength: 80 }), (most, pauses) => {
        const memory = limitsOf(most, 0);
        const passedMs: number[] = [];
        let nowMs = START_MS;
        for (const pause of pauses) {
          nowMs += pause;
          if (memory.take('a', null, nowMs).ok) passedMs.push(nowMs);
        }
        const crowded = passedMs.filter((ms, at) => (passedMs[at + most] ?? Number.POSITIVE_INFINITY) - ms < WINDOW_MS);
        expect(crowded).toEqual([]);
      }),
      RUNS,
    );
  });

  test('that are refused pass after the time that is said, and not a millisecond before', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(200), { minLength: 1, maxLength: 40 }),
        (most, pauses) => {
          const [memory, early] = [limitsOf(0, most), limitsOf(0, most)];
          let nowMs = START_MS;
          for (const pause of pauses) {
            nowMs += pause;
            const verdict = memory.take(null, 'k', nowMs);
            expect(early.take(null, 'k', nowMs)).toEqual(verdict);
            if (verdict.ok) continue;
            expect(verdict.rate.resetMs).toBe(verdict.waitMs);
            expect(early.take(null, 'k', nowMs + verdict.waitMs - 1).ok).toBe(false);
            expect(memory.take(null, 'k', nowMs + verdict.waitMs).ok).toBe(true);
            return;
          }
        },
      ),
      RUNS,
    );
  });

  test('leave more after the time that is said, and not before', () => {
    const memory = limitsOf(5, 0);
    expect(memory.take('a', null, START_MS + 30)).toEqual({
      ok: true,
      rate: { limit: 5, remaining: 4, resetMs: 1_070 },
    });
    // Of the slices that hold something the first one leaves first.
    expect(memory.take('a', null, START_MS + 450)).toMatchObject({ rate: { remaining: 3, resetMs: 650 } });
    expect(memory.take('a', null, START_MS + 1_099)).toMatchObject({ rate: { remaining: 2, resetMs: 1 } });
    expect(memory.take('a', null, START_MS + 1_100)).toMatchObject({ rate: { remaining: 2, resetMs: 400 } });
  });

  test('that a key’s limit refuses do not count for the address, nor the other way round', () => {
    const memory = limitsOf(2, 1);
    expect(memory.take('a', 'k', START_MS).ok).toBe(true);
    for (let times = 0; times < 3; times++) expect(memory.take('a', 'k', START_MS)).toMatchObject({ kind: 'key' });
    expect(memory.take('a', 'l', START_MS)).toMatchObject({ ok: true, rate: { remaining: 0 } });
    expect(memory.take('a', 'm', START_MS)).toMatchObject({ ok: false, kind: 'ip' });
    expect(memory.take('b', 'm', START_MS).ok).toBe(true);
  });

  test('of an address and of a key of one name are counted apart', () => {
    const memory = limitsOf(1, 1);
    expect(memory.take('same', null, START_MS).ok).toBe(true);
    expect(memory.take(null, 'same', START_MS).ok).toBe(true);
    expect(memory.take('same', null, START_MS)).toMatchObject({ kind: 'ip' });
    expect(memory.take(null, 'same', START_MS)).toMatchObject({ kind: 'key' });
  });

  test('of a key whose own limit is 0 are not limited, though those of other keys are', () => {
    const memory = limitsOf(0, 1);
    for (let times = 0; times < 3; times++)
      expect(memory.take(null, 'k', START_MS, 0)).toEqual({ ok: true, rate: null });
    expect(memory.take(null, 'l', START_MS).ok).toBe(true);
    expect(memory.take(null, 'l', START_MS).ok).toBe(false);
  });

  test('of a key whose limit was lowered below what it sent are refused until enough have left', () => {
    const memory = limitsOf(0, 5);
    for (const ms of [0, 100, 200]) expect(memory.take(null, 'k', START_MS + ms).ok).toBe(true);
    const refused = memory.take(null, 'k', START_MS + 250, 1);
    // All three have to go, the last of which leaves at the end of its slice and ten more.
    expect(refused).toMatchObject({ ok: false, waitMs: 1_050, rate: { limit: 1, remaining: 0 } });
    expect(memory.take(null, 'k', START_MS + 1_299, 1).ok).toBe(false);
    expect(memory.take(null, 'k', START_MS + 1_300, 1).ok).toBe(true);
  });

  test('count while the clock is set back, and are not forgotten for it', () => {
    const memory = limitsOf(3, 0);
    expect(memory.take('a', null, START_MS).ok).toBe(true);
    expect(memory.take('a', null, START_MS - 5_000).ok).toBe(true);
    expect(memory.take('a', null, START_MS - 5_000)).toMatchObject({ ok: true, rate: { remaining: 0 } });
    expect(memory.take('a', null, START_MS).ok).toBe(false);
    // They leave with the newest slice there was.
    expect(memory.take('a', null, START_MS + WINDOW_MS + SLICE_MS)).toMatchObject({ ok: true, rate: { remaining: 2 } });
  });

  test('of so many addresses that they do not fit let the one that came first begin anew', () => {
    const memory = limitsOf(1, 0);
    expect(memory.take('first', null, START_MS).ok).toBe(true);
    expect(memory.take('second', null, START_MS).ok).toBe(true);
    for (let other = 2; other < 100_000; other++) memory.take(`${other}`, null, START_MS);
    expect(memory.take('first', null, START_MS).ok).toBe(false);
    expect(memory.take('one more', null, START_MS).ok).toBe(true);
    // Only the first was forgotten; taking it up again forgets the second.
    expect(memory.take('second', null, START_MS).ok).toBe(false);
    expect(memory.take('first', null, START_MS).ok).toBe(true);
    expect(memory.take('99999', null, START_MS).ok).toBe(false);
  });
});
