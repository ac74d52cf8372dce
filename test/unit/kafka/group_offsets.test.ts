import { expect, test } from 'vitest';
import type { Admin } from '#infra/kafka/client.ts';
import { createGroupOffsets } from '#infra/kafka/offsets.ts';
import { quiet } from '#test/harness/kafka.ts';

const at = { topic: 't', partition: 0 };
const noLog = { of: async () => null, topicId: () => 'id' };

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
  const offsets = createGroupOffsets(adminOf(Number(said), Number(high)), 'group', noLog, quiet);
  offsets.passed(at, { offset: 50, metadata: '' });
  expect((await offsets.of(at))?.offset ?? null).toBe(expected);
  expect((await offsets.of(at))?.offset ?? null).toBe(expected);
});

test('of the same offset, that with something beside it is later', async () => {
  const plan = { offset: 5, metadata: 'plan:1:5-9' };
  const bare = { offset: 5, metadata: '' };
  const silent = createGroupOffsets(adminOf(5, 100), 'group', noLog, quiet);
  silent.passed(at, plan);
  expect(await silent.of(at)).toEqual(plan);
  const planned = createGroupOffsets(adminOf(5, 100, plan.metadata), 'group', noLog, quiet);
  planned.passed({ topic: 't', partition: 2 }, { offset: 9, metadata: '' });
  expect(await planned.of(at)).toEqual(plan);
  planned.passed(at, bare);
  expect(await planned.of(at)).toEqual(plan);
});

test.for([
  ['the offset log counts where the coordinator is behind it', 7, { offset: 40, metadata: 'plan' }],
  ['where the coordinator has nothing', -1, { offset: 40, metadata: 'plan' }],
  ['not where it is further', 60, { offset: 60, metadata: 'm' }],
  ['of the same offset, what the coordinator keeps beside it counts', 40, { offset: 40, metadata: 'm' }],
] as const)('%s', async ([, said, expected]) => {
  const isLost = said < 40 ? { isLost: true } : {};
  expect(await createGroupOffsets(adminOf(said, 100, 'm'), 'group', logOf('plan'), quiet).of(at)).toEqual({
    ...expected,
    ...isLost,
  });
});

/** A log that has offset 40. */
const logOf = (metadata: string) => ({ ...noLog, of: async () => ({ offset: 40, metadata }) });

test('an offset of the log behind the end of the topic does not count: it is of one that was there before', async () => {
  expect(await createGroupOffsets(adminOf(-1, 39), 'group', logOf(''), quiet).of(at)).toBeNull();
  expect((await createGroupOffsets(adminOf(-1, 40), 'group', logOf(''), quiet).of(at))?.offset).toBe(40);
});

test('what this process has committed does not count for a topic made anew, however long that is by now', async () => {
  let id = 'one';
  const offsets = createGroupOffsets(adminOf(-1, 100), 'group', { ...noLog, topicId: () => id }, quiet);
  offsets.passed(at, { offset: 50, metadata: '' });
  expect((await offsets.of(at))?.offset).toBe(50);
  id = 'another';
  expect(await offsets.of(at)).toBeNull();
});

test.for([
  ['a plan that only the log has counts', '', 'plan', 'plan'],
  ['also over the mark of a search', 'starts:1:9', 'plan', 'plan'],
  ['one that only the coordinator has counts', 'plan', 'starts:1:9', 'plan'],
  ['else the coordinator', 'starts:1:9', '', 'starts:1:9'],
] as const)('of the same offset: %s', async ([, said, logged, expected]) => {
  const offsets = createGroupOffsets(adminOf(40, 100, said), 'group', logOf(logged), quiet, (one) => one === 'plan');
  expect(await offsets.of(at)).toEqual({ offset: 40, metadata: expected });
});
