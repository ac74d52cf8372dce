import { expect, test } from 'vitest';
import { differences, numbered, produce, readCommitted, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, isDone, joinStage, passOn, stateOf, useKafka } from './stage_fixture.ts';
import { watchedConsumers } from './watched_consumers.ts';

const TEST_MS = 120_000;
const kafka = useKafka();

test('a partition that stands still holds up no other one of its process', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 2, 1);
  const pass = passOn(retryTopic.output, 1);
  const released = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const { kafka: client, watched } = watchedConsumers(world.brokers);
  let others = 0;
  const work: typeof pass = async (batch) => {
    if (batch.partition === 1) others += batch.records.length;
    else {
      reached.resolve();
      await released.promise;
    }
    return pass(batch);
  };
  await joinStage(world, retryTopic, work, { kafka: client });
  await produce(world.kafka, retryTopic.input, [{ partition: 0, value: 'stuck-0' }]);
  await reached.promise;
  for (let round = 1; round <= 4; round++) {
    await produce(world.kafka, retryTopic.input, [{ partition: 1, value: `free-${round}` }]);
    await until(`record ${round} to be taken`, () => others === round);
  }
  await produce(world.kafka, retryTopic.input, numbered('behind', 200, 2));
  // The member that works for so long is not taken for dead, however long it works: it goes on being heard.
  const heard = watched.heartbeats;
  await until('the member to be heard again and again', () => watched.heartbeats >= heard + 2);
  released.resolve();
  await until('the group to be done', () => isDone(world, retryTopic));
  const expected = [
    'stuck-0',
    'free-1',
    'free-2',
    'free-3',
    'free-4',
    ...numbered('behind', 200, 2).map(({ value }) => value),
  ];
  expect(differences(await readCommitted(world.kafka, retryTopic.output, 1), expected)).toEqual([]);
  expect(watched.joined).toBe(1);
});

test('what is in work when another member joins is finished first, and done once', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 2, 1);
  const pass = passOn(retryTopic.output, 1);
  const begun: string[] = [];
  const released = Promise.withResolvers<void>();
  const slow: typeof pass = async (batch) => {
    begun.push(...batch.records.map(({ value }) => value?.toString() ?? ''));
    await released.promise;
    return pass(batch);
  };
  const first = await joinStage(world, retryTopic, slow);
  await until('a member', () => first.assigned().length === 2);
  const texts = numbered('work', 20, 2);
  await produce(world.kafka, retryTopic.input, texts);
  await until('both partitions to be in work', () => begun.length === texts.length);
  const joining = joinStage(world, retryTopic, slow);
  await until('the group to be joined anew', async () => (await stateOf(world, retryTopic)) === 'PreparingRebalance');
  released.resolve();
  const second = await joining;
  await until('both to have a partition', () => first.assigned().length === 1 && second.assigned().length === 1);
  await until('the group to be done', () => isDone(world, retryTopic));
  expect(begun).toHaveLength(texts.length);
  const found = await readCommitted(world.kafka, retryTopic.output, 1);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('a member that stops finishes what is in work', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, 1);
  const pass = passOn(retryTopic.output, 1);
  let begun = 0;
  const member = await joinStage(world, retryTopic, async (batch) => {
    begun++;
    await until('the member to be told to stop', () => batch.stopping());
    // A member that did not wait would have left the group by now.
    for (let asked = 0; asked < 10; asked++) expect(await stateOf(world, retryTopic)).toBe('Stable');
    return pass(batch);
  });
  await produce(world.kafka, retryTopic.input, [{ partition: 0, value: 'last-0' }]);
  await until('a batch to be in work', () => begun === 1);
  await member.stop();
  expect(await isDone(world, retryTopic)).toBe(true);
});
