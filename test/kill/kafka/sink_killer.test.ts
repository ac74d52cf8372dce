import { expect, test } from 'vitest';
import { numbered, produce } from '#test/harness/kafka.ts';
import { committedIn, createSinkLane, useSinkParts, wordsIn } from '#test/integration/kafka/sink_fixture.ts';
import { deathsUntil } from '#test/kill/child.ts';
import type { SinkChildOptions } from './sink_child.ts';

const TEST_MS = 240_000;
const STARTS_MAX = 12;
const CHILD = new URL('./sink_child.ts', import.meta.url);
const parts = useSinkParts();

test('a record that kills the process when its rows are made is dead-lettered after a few starts, and only that one', {
  timeout: TEST_MS,
}, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const texts = numbered('m', 12, 1);
  await produce(world.kafka, retryTopic.topic, texts);
  const options: SinkChildOptions = {
    brokers: world.addresses.kafkaBrokers,
    clickhouseUrl: world.addresses.clickhouseUrl,
    blockRowsMax: 1_000,
    token: 'planned',
    killer: 'm-8',
    ...retryTopic,
  };
  // Before the group's first member has joined the broker knows no coordinator for it.
  const isOver = async (): Promise<boolean> =>
    (await committedIn(world, retryTopic).catch(() => undefined))?.offset === String(texts.length);
  expect(await deathsUntil(CHILD, options, isOver, STARTS_MAX)).toBe(9);
  expect(await wordsIn(world, retryTopic)).toEqual(
    texts.map(({ value }) => (value === 'm-8' ? 'dead letter m-8' : value)),
  );
});
