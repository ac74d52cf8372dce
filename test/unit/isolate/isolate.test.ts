import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isolate, POISON_PILLS_MAX } from '#pipelines/stage.ts';

const always = (): boolean => true;

/** Passes numbers on, and throws at those that are bad. */
const worker =
  (bad: ReadonlySet<number>, calls: number[] = []) =>
  async (items: readonly number[]): Promise<readonly number[]> => {
    calls.push(items.length);
    for (const item of items) if (bad.has(item)) throw new RangeError(`bad ${item}`);
    return items;
  };

test('whatever items are bad, they and only they are left out, and the others keep their order', async () => {
  const bad = fc.uniqueArray(fc.integer({ min: 0, max: 99 }), { maxLength: POISON_PILLS_MAX });
  await fc.assert(
    fc.asyncProperty(bad, fc.integer({ min: 0, max: 100 }), async (numbers, count) => {
      const items = Array.from({ length: count }, (_, index) => index);
      const set = new Set(numbers);
      const { results, poisonPills } = await isolate(items, worker(set), always);
      expect(results.flat()).toEqual(items.filter((item) => !set.has(item)));
      expect(poisonPills.map(({ item }) => item)).toEqual(items.filter((item) => set.has(item)));
    }),
  );
});

test('one bad item of a thousand costs two calls a halving', async () => {
  const calls: number[] = [];
  const items = Array.from({ length: 1_000 }, (_, index) => index);
  const { poisonPills } = await isolate(items, worker(new Set([617]), calls), always);
  expect(poisonPills).toEqual([{ item: 617, error: new RangeError('bad 617') }]);
  expect(calls.length).toBeLessThanOrEqual(2 * 10 + 1);
});

test('what is no item’s fault is thrown', async () => {
  const away = new Error('away');
  const work = async (): Promise<never> => {
    throw away;
  };
  await expect(isolate([1, 2], work, (error) => error !== away)).rejects.toBe(away);
  await expect(isolate([], work, always)).rejects.toBe(away);
});

test('where too many are bad nobody is at fault but the work, and its first error is thrown', async () => {
  const items = Array.from({ length: 100 }, (_, index) => index);
  const bad = new Set(items.slice(0, POISON_PILLS_MAX + 1));
  await expect(isolate(items, worker(bad), always)).rejects.toEqual(new RangeError('bad 0'));
});
