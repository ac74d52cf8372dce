import { expect, test } from 'vitest';
import { createSiteConcurrencyLimiter } from '#pipelines/delivery/concurrency.ts';

/** Begins pieces of work of sites in order, and says which are under way and how to end one. */
function world(totalMax: number, siteMax: number, sites: string[], slow: string[] = []) {
  const turns = createSiteConcurrencyLimiter(totalMax, (siteId) => slow.includes(siteId));
  const underWay: string[] = [];
  const ends: (() => void)[] = [];
  const works = sites.map((site, index) =>
    turns.run(site, siteMax, async () => {
      underWay.push(`${site}${index}`);
      await new Promise<void>((resolve) => {
        ends[index] = resolve;
      });
      return index;
    }),
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { underWay, ends, works, settle };
}

test('a site has no more under way than it may, and holds up no other', async () => {
  const { underWay, ends, settle } = world(10, 2, ['a', 'a', 'a', 'a', 'b']);
  await settle();
  expect(underWay).toEqual(['a0', 'a1', 'b4']);
  ends[0]?.();
  await settle();
  expect(underWay).toEqual(['a0', 'a1', 'b4', 'a2']);
});

test('in all there are no more under way than there may be; who waited longest is next', async () => {
  const { underWay, ends, works, settle } = world(2, 2, ['a', 'b', 'c', 'd']);
  await settle();
  expect(underWay).toEqual(['a0', 'b1']);
  ends[1]?.();
  await settle();
  ends[0]?.();
  await settle();
  expect(underWay).toEqual(['a0', 'b1', 'c2', 'd3']);
  for (const end of ends) end();
  expect(await Promise.all(works)).toEqual([0, 1, 2, 3]);
});

test('slow sites have half of the turns together', async () => {
  const { underWay, ends, settle } = world(4, 4, ['slow', 'other', 'slow', 'other', 'a', 'a', 'a'], ['slow', 'other']);
  await settle();
  expect(underWay).toEqual(['slow0', 'other1', 'a4', 'a5']);
  ends[4]?.();
  await settle();
  ends[0]?.();
  await settle();
  expect(underWay.slice(4)).toEqual(['a6', 'slow2']);
});

test('work that fails gives its turn on', async () => {
  const turns = createSiteConcurrencyLimiter(1);
  await expect(turns.run('a', 1, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await turns.run('a', 1, async () => 7)).toBe(7);
});
