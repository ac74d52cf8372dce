import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { differences, numbered, produce, readCommitted, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, isDone, joinStage, passOn, useKafka } from './stage_fixture.ts';

const TEST_MS = 120_000;
const kafka = useKafka();

test('a partition that stands still holds up no other one of its process', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const lane = await createLane(world, 2, 1);
  const pass = passOn(lane.output, 1);
  const released = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let others = 0;
  await joinStage(world, lane, async (batch) => {
    if (batch.partition === 1) others += batch.records.length;
    else {
      reached.resolve();
      await released.promise;
    }
    return pass(batch);
  });
  await produce(world.kafka, lane.input, [{ partition: 0, value: 'stuck-0' }]);
  await reached.promise;
  for (let round = 1; round <= 4; round++) {
    await produce(world.kafka, lane.input, [{ partition: 1, value: `free-${round}` }]);
    await until(`record ${round} to be taken`, () => others === round);
  }
  // Longer than the session: the member that works for so long is not taken for dead.
  await produce(world.kafka, lane.input, numbered('behind', 200, 2));
  await sleep(8_000);
  released.resolve();
  await until('the group to be done', () => isDone(world, lane));
  const expected = [
    'stuck-0',
    'free-1',
    'free-2',
    'free-3',
    'free-4',
    ...numbered('behind', 200, 2).map(({ value }) => value),
  ];
  expect(differences(await readCommitted(world.kafka, lane.output, 1), expected)).toEqual([]);
});

test('what is in work when another member joins is finished first, and done once', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const lane = await createLane(world, 2, 1);
  const pass = passOn(lane.output, 1);
  const begun: string[] = [];
  const slow: typeof pass = async (batch) => {
    begun.push(...batch.records.map(({ value }) => value?.toString() ?? ''));
    await sleep(4_000);
    return pass(batch);
  };
  const first = await joinStage(world, lane, slow);
  await until('a member', () => first.assigned().length === 2);
  const texts = numbered('work', 20, 2);
  await produce(world.kafka, lane.input, texts);
  await until('both partitions to be in work', () => begun.length === texts.length);
  const second = await joinStage(world, lane, slow);
  await until('both to have a partition', () => first.assigned().length === 1 && second.assigned().length === 1);
  await until('the group to be done', () => isDone(world, lane));
  expect(begun).toHaveLength(texts.length);
  const found = await readCommitted(world.kafka, lane.output, 1);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('a member that stops finishes what is in work', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const lane = await createLane(world, 1, 1);
  const pass = passOn(lane.output, 1);
  let begun = 0;
  const member = await joinStage(world, lane, async (batch) => {
    begun++;
    await sleep(3_000);
    return pass(batch);
  });
  await produce(world.kafka, lane.input, [{ partition: 0, value: 'last-0' }]);
  await until('a batch to be in work', () => begun === 1);
  await member.stop();
  expect(await isDone(world, lane)).toBe(true);
});
