import { expect, test } from 'vitest';
import { createPersonData } from '#infra/persons/person_data.ts';

type Parts = Parameters<typeof createPersonData>[0];

/** Of nobody; how often all of the topic is read is counted. */
function world() {
  const reads: (() => void)[] = [];
  const fetchTopicOffsets = async (): Promise<[]> => {
    await new Promise<void>((resolve) => {
      reads.push(resolve);
    });
    return [];
  };
  const parts = {
    session: { kafka: {}, admin: { fetchTopicOffsets }, config: { prefix: 'test' } },
    registry: { idOf: async () => 1 },
    redis: { isCluster: false, defineCommand: () => undefined },
    ...{ warehouse: {}, identitySecret: Buffer.alloc(32) },
  } as unknown as Parts;
  return { reads, data: createPersonData(parts) };
}

test('whoever asks of links while all of them are read shares the next reading, and never the one that was begun before', async () => {
  const { reads, data } = world();
  const ask = () => data.links(new Map([['shop', new Set(['p'])]]));
  const first = ask();
  await expect.poll(() => reads.length).toBe(1);
  const others = Array.from({ length: 20 }, ask);
  reads[0]?.();
  expect(await first).toEqual([]);
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.();
  expect(await Promise.all(others)).toEqual(others.map(() => []));
  expect(reads).toHaveLength(2);
});
