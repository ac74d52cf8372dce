import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { differences, numbered, produce, readCommitted, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import {
  createLane,
  isDone,
  joinStage,
  type KafkaFixture,
  type Lane,
  passOn,
  useOwnKafka,
} from '#test/integration/kafka/stage_fixture.ts';

const PARTITIONS = 4;
const OUTPUTS = 3;
const kafka = useOwnKafka();

/** The coordinator may be only just coming, and say so. */
async function isDoneByNow(world: KafkaFixture, retryTopic: Lane): Promise<boolean> {
  try {
    return await isDone(world, retryTopic);
  } catch (error) {
    if (error instanceof Error && error.name === 'KafkaJSProtocolError') return false;
    throw error;
  }
}

test('a broker killed under load and started again: each record is passed on once', {
  timeout: 180_000,
}, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, PARTITIONS, OUTPUTS);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const fatal: unknown[] = [];
  const transform: typeof pass = async (batch) => {
    const few = batch.records.slice(0, 20);
    const next = batch.records[few.length];
    const result = await pass({ ...batch, records: few });
    return next === undefined ? result : { ...result, leave: { offset: next.offset, notBeforeMs: 0 } };
  };
  const texts = numbered('b', 4_000, PARTITIONS);
  await produce(world.kafka, retryTopic.input, texts);
  for (let members = 0; members < 2; members++)
    await joinStage(world, retryTopic, transform, { onFatal: (error) => fatal.push(error) });
  await sleep(1_000);
  expect(await isDone(world, retryTopic)).toBe(false);
  world.broker.kill('SIGKILL');
  await until('the broker to be gone', () => world.broker.pid === undefined);
  await sleep(5_000);
  await world.broker.start();
  await until('the group to be done', () => isDoneByNow(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
  expect(fatal).toEqual([]);
});
