import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { RateLimits, RateVerdict } from '#pipelines/quota/limits.ts';

type Take = (address: string | null, key: string | null, keyLimit?: number, requests?: number) => Promise<RateVerdict>;

/** The time that a count goes by, which only the suite moves on. */
export interface SuiteClock {
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

/** Longer than the suite takes: what forgets by itself does so by another clock. */
const WINDOW_MS = 600_000;

/** What every count of requests must do, by the clock it has. */
export function rateLimitSuite(name: string, create: (limits: RateLimits) => Take, clock: SuiteClock): void {
  describe(name, () => {
    const open = (perIp: number, perKey: number): Take => create({ windowMs: WINDOW_MS, perIp, perKey });

    test('as many as the limit pass, and say what remains', async () => {
      const take = open(3, 0);
      const address = randomUUID();
      for (const remaining of [2, 1, 0]) {
        expect(await take(address, null)).toMatchObject({ ok: true, rate: { limit: 3, remaining } });
      }
      expect(await take(address, null)).toMatchObject({ ok: false, kind: 'ip', rate: { limit: 3, remaining: 0 } });
      expect(await take(randomUUID(), null)).toMatchObject({ ok: true });
    });

    test('the nearer limit is told, and either refuses', async () => {
      const take = open(5, 2);
      const [address, key] = [randomUUID(), randomUUID()];
      expect(await take(address, key)).toMatchObject({ ok: true, rate: { limit: 2, remaining: 1 } });
      await take(address, key);
      expect(await take(address, key)).toMatchObject({ ok: false, kind: 'key' });
      const other = randomUUID();
      for (let sent = 0; sent < 5; sent++) expect(await take(other, randomUUID())).toMatchObject({ ok: true });
      expect(await take(other, randomUUID())).toMatchObject({ ok: false, kind: 'ip' });
    });

    test('a key may have a limit of its own, above that of the others or below it', async () => {
      const take = open(0, 2);
      const [small, large] = [randomUUID(), randomUUID()];
      expect(await take(null, small, 1)).toMatchObject({ ok: true, rate: { limit: 1, remaining: 0 } });
      expect(await take(null, small, 1)).toMatchObject({ ok: false, kind: 'key', rate: { limit: 1 } });
      for (const remaining of [3, 2, 1, 0]) {
        expect(await take(null, large, 4)).toMatchObject({ ok: true, rate: { limit: 4, remaining } });
      }
      expect(await take(null, large, 4)).toMatchObject({ ok: false, kind: 'key' });
      const [unlimited, limited] = [open(0, 0), randomUUID()];
      expect(await unlimited(null, limited, 1)).toMatchObject({ ok: true });
      expect(await unlimited(null, limited, 1)).toMatchObject({ ok: false, kind: 'key' });
    });

    test('one may count as several, as far as the limits have room', async () => {
      const take = open(9, 6);
      const [address, key] = [randomUUID(), randomUUID()];
      expect(await take(address, key, undefined, 4)).toMatchObject({ ok: true, rate: { limit: 6, remaining: 2 } });
      expect(await take(address, key, undefined, 4)).toMatchObject({ ok: true, rate: { limit: 6, remaining: 0 } });
      expect(await take(address, key, undefined, 4)).toMatchObject({ ok: false, kind: 'key' });
    });

    test('after the time that was said one passes again, and not before', async () => {
      const take = open(2, 0);
      const address = randomUUID();
      const firstMs = clock.nowMs();
      await take(address, null);
      await clock.sleep(WINDOW_MS / 3);
      await take(address, null);
      const refused = await take(address, null);
      if (refused.ok) throw new Error('not refused');
      expect(refused.waitMs).toBeLessThanOrEqual((WINDOW_MS * 11) / 10);
      expect(clock.nowMs() - firstMs + refused.waitMs).toBeGreaterThanOrEqual(WINDOW_MS - 1);
      await clock.sleep(refused.waitMs / 2);
      expect(await take(address, null)).toMatchObject({ ok: false });
      await clock.sleep(refused.waitMs / 2);
      expect(await take(address, null)).toMatchObject({ ok: true });
      expect(await take(address, null)).toMatchObject({ ok: false });
    });

    test('no span of a window holds more than the limit', async () => {
      const take = open(10, 0);
      const address = randomUUID();
      const passedMs: number[] = [];
      const endMs = clock.nowMs() + WINDOW_MS * 4;
      while (clock.nowMs() < endMs) {
        const askedMs = clock.nowMs();
        if ((await take(address, null)).ok) passedMs.push(askedMs);
        await clock.sleep(WINDOW_MS / 120);
      }
      const crowded = passedMs.filter((ms, at) => (passedMs[at + 10] ?? Number.POSITIVE_INFINITY) - ms < WINDOW_MS);
      expect(crowded).toEqual([]);
      expect(passedMs.length).toBeGreaterThanOrEqual(30);
    });

    test('without limits everything passes', async () => {
      const take = open(0, 0);
      for (let sent = 0; sent < 5; sent++) expect(await take('same', 'same')).toEqual({ ok: true, rate: null });
      expect(await open(1, 1)(null, null)).toEqual({ ok: true, rate: null });
    });
  });
}
