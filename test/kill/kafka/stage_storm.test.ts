import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { differences, numbered, produce, readCommitted } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, isDone, joinStage, passOn, useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';

const PARTITIONS = 8;
const OUTPUTS = 4;
const ROUNDS = 9;
const RECORDS_PER_ROUND = 400;
const TEST_MS = 120_000;
const kafka = useOwnKafka();

test.each([1, 2])(
  'three members coming and going pass each record on once, %i partitions in a group',
  {
    timeout: TEST_MS,
  },
  async (partitionGroupSize) => {
    const world = kafka();
    const retryTopic = await createLane(world, PARTITIONS, OUTPUTS);
    const join = (): Promise<Consumption> =>
      joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS), { partitionGroupSize });
    const members: Consumption[] = [await join()];
    const expected: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const texts = numbered(`r${round}`, RECORDS_PER_ROUND, PARTITIONS);
      expected.push(...texts.map(({ value }) => value));
      const change = round % 3 === 2 ? members.shift()?.stop() : join().then((member) => members.push(member));
      for (let at = 0; at < texts.length; at += 80) {
        await produce(world.kafka, retryTopic.input, texts.slice(at, at + 80));
        await sleep(100);
      }
      await change;
      if (members.length > 3) await members.shift()?.stop();
    }
    await until('the group to be done', () => isDone(world, retryTopic));
    const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
    expect(differences(found, expected)).toEqual([]);
  },
);

test('records left for later wait their time, also when another member takes over', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, 1);
  const dueMs = Date.now() + 12_000;
  const pass = passOn(retryTopic.output, 1);
  const takenAt: number[] = [];
  const patient: typeof pass = async (batch) => {
    const due = batch.records.filter(({ value }) => !value?.toString().startsWith('wait') || Date.now() >= dueMs);
    const taken = batch.records.slice(
      0,
      batch.records.findIndex((record) => !due.includes(record)),
    );
    const all = due.length === batch.records.length;
    if (all) takenAt.push(Date.now());
    const result = await pass({ ...batch, records: all ? batch.records : taken });
    const offset = batch.records[taken.length]?.offset ?? 0;
    return all ? result : { ...result, leave: { offset, notBeforeMs: dueMs } };
  };
  const first = await joinStage(world, retryTopic, patient);
  const texts = ['now-0', 'now-1', 'wait-2', 'now-3'].map((value) => ({ partition: 0, value }));
  await produce(world.kafka, retryTopic.input, texts);
  await sleep(2_000);
  await joinStage(world, retryTopic, patient);
  await sleep(2_000);
  await first.stop();
  expect((await readCommitted(world.kafka, retryTopic.output, 1)).map(({ value }) => value)).toEqual([
    'now-0',
    'now-1',
  ]);
  await until('the group to be done', () => isDone(world, retryTopic));
  expect(Math.min(...takenAt)).toBeGreaterThanOrEqual(dueMs);
  expect(Date.now()).toBeLessThan(dueMs + 5_000);
  const found = await readCommitted(world.kafka, retryTopic.output, 1);
  expect(found.map(({ value }) => value)).toEqual(texts.map(({ value }) => value));
});
