import { expect, test } from 'vitest';
import type { Admin } from '#infra/kafka/client.ts';
import { createGroupOffsets } from '#infra/kafka/offsets.ts';

const at = { topic: 't', partition: 0 };

/** An admin client of a group that has committed `said`, over a partition that ends at `high`. */
function adminOf(said: number, high: number, metadata: string | null = null): Admin {
  return {
    fetchOffsets: async () => [{ topic: 't', partitions: [{ partition: 0, offset: String(said), metadata }] }],
    fetchTopicOffsets: async () => [{ partition: 0, offset: String(high), high: String(high), low: '0' }],
  } as unknown as Admin;
}

test.for([
  ['a coordinator that forgot is not believed', 7, 100, 50],
  ['one that forgot all is not', -1, 100, 50],
  ['what another member has committed since is further', 60, 100, 60],
  ['of a topic that was made anew the coordinator is believed', 7, 10, 7],
  ['also where it knows of nothing', -1, 10, null],
])('%s', async ([, said, high, expected]) => {
  const offsets = createGroupOffsets(adminOf(Number(said), Number(high)), 'group', {
    note: () => undefined,
    of: async () => null,
  });
  offsets.passed(at, { offset: 50, metadata: '' });
  expect((await offsets.of(at))?.offset ?? null).toBe(expected);
  expect((await offsets.of(at))?.offset ?? null).toBe(expected);
});

test('nothing committed is not nothing done: what was noted a second time counts, and what is committed before it', async () => {
  const noted: number[] = [];
  const marks = { note: (_at: object, offset: number) => void noted.push(offset), of: async () => 40 };
  const gone = createGroupOffsets(adminOf(-1, 100), 'group', marks);
  expect(await gone.of(at)).toEqual({ offset: 40, metadata: '' });
  gone.passed(at, { offset: 50, metadata: 'm' });
  expect(noted).toEqual([50]);
  expect((await gone.of(at))?.offset).toBe(50);
  // Whoever sets a group back means it.
  const reset = createGroupOffsets(adminOf(7, 100), 'group', marks);
  expect((await reset.of(at))?.offset).toBe(7);
});

test('of the same offset, that with something beside it is later', async () => {
  const plan = { offset: 5, metadata: 'plan:1:5-9' };
  const bare = { offset: 5, metadata: '' };
  const marks = { note: () => undefined, of: async () => null };
  const silent = createGroupOffsets(adminOf(5, 100), 'group', marks);
  silent.passed(at, plan);
  expect(await silent.of(at)).toEqual(plan);
  const planned = createGroupOffsets(adminOf(5, 100, plan.metadata), 'group', marks);
  planned.passed({ topic: 't', partition: 2 }, { offset: 9, metadata: '' });
  expect(await planned.of(at)).toEqual(plan);
  planned.passed(at, bare);
  expect(await planned.of(at)).toEqual(plan);
});
