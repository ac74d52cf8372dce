import { expect, test } from 'vitest';
import { differences, numbered, produce, readCommitted, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import {
  createLane,
  isDone,
  type KafkaFixture,
  type Lane,
  useOwnKafka,
} from '#test/integration/kafka/stage_fixture.ts';
import { startChild } from '#test/kill/child.ts';
import type { StageChildOptions } from './stage_child.ts';

const OUTPUTS = 3;
/** Well past the session timeout, so that another member has taken over. */
const STALL_MS = 14_000;
const TEST_MS = 90_000;
const CHILD = new URL('./stage_child.ts', import.meta.url);
const kafka = useOwnKafka();

function member(world: KafkaFixture, retryTopic: Lane, facts: Partial<StageChildOptions>) {
  return startChild(CHILD, {
    name: 'member',
    variant: 'fenced',
    brokers: world.brokers,
    outputPartitions: OUTPUTS,
    ...retryTopic,
    ...facts,
  });
}

/** A member stalls in its first batch; a second takes over and commits; the first wakes and goes on. */
async function stallOne(variant: StageChildOptions['variant'], partitions: number): Promise<string[]> {
  const world = kafka();
  const retryTopic = await createLane(world, partitions, OUTPUTS);
  const texts = numbered('z', 10, partitions);
  await produce(world.kafka, retryTopic.input, texts);
  const first = member(world, retryTopic, {
    name: 'first',
    variant,
    partitionGroupSize: partitions,
    stallMs: STALL_MS,
  });
  await first.said('has a batch');
  const second = member(world, retryTopic, { name: 'second', variant, partitionGroupSize: partitions });
  await second.said('committed');
  await first.said('woke');
  const later = numbered('later', 10, partitions);
  await produce(world.kafka, retryTopic.input, later);
  await until('the group to be done', () => isDone(world, retryTopic));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  return differences(found, valuesOf([...texts, ...later]));
}

test.each([1, 3])(
  'a stalled member of %i partitions that wakes after another took over doubles nothing',
  {
    timeout: TEST_MS,
  },
  async (partitions) => {
    expect(await stallOne('fenced', partitions)).toEqual([]);
  },
);

test('without the fence the same course doubles every record', { timeout: TEST_MS }, async () => {
  const doubled = Array.from({ length: 10 }, (_, index) => `z-${index}: 2 times`);
  expect(await stallOne('naive', 1)).toEqual(expect.arrayContaining(doubled));
});

for (const dieBefore of ['sendBatch', 'commit'] as const) {
  test(`a member killed before ${dieBefore} leaves nothing to see, and another passes all on`, {
    timeout: TEST_MS,
  }, async () => {
    const world = kafka();
    const retryTopic = await createLane(world, 1, OUTPUTS);
    const texts = numbered('k', 10, 1);
    await produce(world.kafka, retryTopic.input, texts);
    const killed = member(world, retryTopic, { name: 'killed', dieBefore });
    expect(await killed.ended).toBe('SIGKILL');
    const heir = member(world, retryTopic, { name: 'heir' });
    await heir.said('committed');
    const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
    expect(differences(found, valuesOf(texts))).toEqual([]);
    // The records of one that was killed after it had sent them, and the markers of their abort, lie before them.
    const begins = Math.min(...found.map(({ offset }) => offset));
    if (dieBefore === 'commit') expect(begins).toBeGreaterThan(3);
  });
}
