import { expect, test } from 'vitest';
import { numbered, produce } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import {
  committedOffsets,
  createSinkLane,
  runHere,
  type SinkLane,
  type SinkWorld,
  useSinkParts,
  wordsIn,
} from '#test/integration/kafka/sink_fixture.ts';
import { startChild } from '#test/kill/child.ts';
import type { SinkChildOptions } from './sink_child.ts';

const TEST_MS = 90_000;
const PARTITIONS = 4;
const CHILD = new URL('./sink_child.ts', import.meta.url);
const parts = useSinkParts();

function member({ addresses }: SinkWorld, retryTopic: SinkLane, facts: Partial<SinkChildOptions>) {
  const { kafkaBrokers, clickhouseUrl } = addresses;
  const shared = { brokers: kafkaBrokers, clickhouseUrl, blockRowsMax: 1_000, token: 'planned' };
  return startChild(CHILD, { ...shared, ...retryTopic, ...facts });
}

for (const die of ['planned', 'inserted'] as const) {
  test(`a member killed when its block of four partitions was ${die}: two heirs, and each row stands once`, {
    timeout: TEST_MS,
  }, async () => {
    const world = parts();
    const retryTopic = await createSinkLane(world, PARTITIONS);
    const texts = numbered('word', 40, PARTITIONS);
    const later = numbered('later', 20, PARTITIONS);
    await produce(world.kafka, retryTopic.topic, texts);
    expect(await member(world, retryTopic, { die, blockRowsMax: 40 }).ended).toBe('SIGKILL');
    await produce(world.kafka, retryTopic.topic, later);
    const heirs = [await runHere(world, retryTopic), await runHere(world, retryTopic)];
    const done = ['15 ', '15 ', '15 ', '15 '];
    await until('all to be committed', async () => (await committedOffsets(world, retryTopic)).join() === done.join());
    expect(heirs.map((heir) => heir.assigned().length)).toEqual([2, 2]);
    const sorted = (words: readonly string[]): string[] => words.toSorted();
    expect(sorted(await wordsIn(world, retryTopic))).toEqual(sorted([...texts, ...later].map(({ value }) => value)));
  });
}
