import { expect, test } from 'vitest';
import type { Admin } from '#infra/kafka/client.ts';
import { createGroupOffsets } from '#infra/kafka/offsets.ts';

const at = { topic: 't', partition: 0 };

/** An admin client of a group that has committed `said`, over a partition that ends at `high`. */
function adminOf(said: number, high: number): Admin {
  return {
    fetchOffsets: async () => [{ topic: 't', partitions: [{ partition: 0, offset: String(said), metadata: null }] }],
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
