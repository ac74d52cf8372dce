import { expect, test } from 'vitest';
import { createGather } from '#infra/kafka/transactional_stage.ts';

function gathering(outcome: (item: string) => Error | null = () => null) {
  const flushes: string[][] = [];
  const blocks: Promise<void>[] = [];
  const gather = createGather<string>(async (items) => {
    flushes.push([...items]);
    await blocks.shift();
    return items.map(outcome);
  });
  return { gather, flushes, blocks };
}

test('what is made side by side is flushed together, when the last of it is made', async () => {
  const { gather, flushes } = gathering();
  const slow = Promise.withResolvers<string>();
  const runs = [gather.run(async () => 'quick'), gather.run(() => slow.promise)];
  await Promise.resolve();
  expect(flushes).toEqual([]);
  slow.resolve('slow');
  await Promise.all(runs);
  expect(flushes).toEqual([['quick', 'slow']]);
});

test('what is made during a flush goes into the next one', async () => {
  const { gather, flushes, blocks } = gathering();
  const block = Promise.withResolvers<void>();
  blocks.push(block.promise);
  const first = gather.run(async () => 'first');
  await expect.poll(() => flushes.length).toBe(1);
  const later = [gather.run(async () => 'second'), gather.run(async () => 'third')];
  await Promise.resolve();
  expect(flushes).toEqual([['first']]);
  block.resolve();
  await Promise.all([first, ...later]);
  expect(flushes).toEqual([['first'], ['second', 'third']]);
});

test('who fails is not waited for, and fails alone', async () => {
  const { gather, flushes } = gathering();
  const failing = Promise.withResolvers<string>();
  const one = gather.run(async () => 'one');
  const other = gather.run(() => failing.promise);
  failing.reject(new Error('cannot'));
  await expect(other).rejects.toThrow('cannot');
  await one;
  expect(flushes).toEqual([['one']]);
});

test('each gets the outcome of its own item', async () => {
  const { gather } = gathering((item) => (item === 'lost' ? new Error('lost') : null));
  const [kept, lost] = await Promise.allSettled([gather.run(async () => 'kept'), gather.run(async () => 'lost')]);
  expect([kept?.status, lost?.status]).toEqual(['fulfilled', 'rejected']);
});

test('a flush that fails fails all in it, and the next one goes on', async () => {
  let failures = 1;
  const gather = createGather<string>(async (items) => {
    if (failures-- > 0) throw new Error('refused');
    return items.map(() => null);
  });
  const results = await Promise.allSettled([gather.run(async () => 'one'), gather.run(async () => 'two')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await gather.run(async () => 'three');
});
