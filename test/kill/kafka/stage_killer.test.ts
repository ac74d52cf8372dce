import { expect, test } from 'vitest';
import { numbered, produce, readCommitted } from '#test/harness/kafka.ts';
import { createLane, isDone, useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';
import { deathsUntil } from '#test/kill/child.ts';
import type { StageChildOptions } from './stage_child.ts';

const TEST_MS = 240_000;
const STARTS_MAX = 12;
const CHILD = new URL('./stage_child.ts', import.meta.url);
const kafka = useOwnKafka();

test('a record that kills the process is dead-lettered after a few starts, and only that one', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 2, 1);
  const texts = numbered('m', 24, 2);
  await produce(world.kafka, retryTopic.input, texts);
  const options: StageChildOptions = {
    name: 'victim',
    variant: 'fenced',
    brokers: world.brokers,
    outputPartitions: 1,
    killer: 'm-8',
    ...retryTopic,
  };
  // Before the group's first member has joined the broker knows no coordinator for it.
  const isOver = (): Promise<boolean> => isDone(world, retryTopic).catch(() => false);
  expect(await deathsUntil(CHILD, options, isOver, STARTS_MAX)).toBe(9);
  const found = (await readCommitted(world.kafka, retryTopic.output, 1)).map(({ value }) => value).sort();
  const others = texts.map(({ value }) => value).filter((value) => value !== 'm-8');
  expect(found).toEqual([...others, 'dead letter m-8'].sort());
});
