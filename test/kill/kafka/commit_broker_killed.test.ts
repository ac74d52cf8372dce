import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption, InBatch } from '#infra/kafka/consumer/consumption.ts';
import { committed } from '#infra/kafka/offsets.ts';
import { kafkaOf, numbered, produce, quiet, SESSION_TIMEOUT_MS, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';

const kafka = useOwnKafka();
/** Longer than the client takes to give up its connections and to crash. */
const CRASHED_MS = 3_000;

test('a commit that the crash of the consumer swallows is not taken for made', { timeout: 120_000 }, async () => {
  const world = kafka();
  const { groupId, input: topic } = await createLane(world, 1, 1);
  await produce(world.kafka, topic, numbered('c', 1, 1));
  const commits: string[] = [];
  let consumption: Consumption | undefined;
  async function process({ partition }: InBatch): Promise<undefined> {
    if (commits.length === 0) {
      world.broker.kill('SIGKILL');
      await until('the broker to be gone', () => world.broker.pid === undefined);
      await sleep(CRASHED_MS);
    }
    const made = consumption?.commit({ topic, partition }, 1, 'made') ?? Promise.reject(new Error('not running'));
    await made.then(
      () => commits.push('made'),
      (error: unknown) => commits.push(String(Reflect.get(Object(error), 'code'))),
    );
    return undefined;
  }
  consumption = await consume({
    kafka: kafkaOf(world.brokers, uniqueName('member')),
    groupId,
    topics: [topic],
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    concurrency: 1,
    handlers: {
      acquire: async ({ partition }) => (await committed(world.admin, groupId, { topic, partition }))?.offset ?? null,
      process,
    },
    logger: quiet,
    onFatal: (error) => {
      throw error;
    },
  });
  const running = consumption;
  onTestFinished(() => running.stop());
  await until('the first commit to be answered', () => commits.length === 1);
  await world.broker.start();
  await until('the record to be taken again', () => commits.length === 2);
  expect(commits).toEqual(['partition_lost', 'made']);
  expect(await committed(world.admin, groupId, { topic, partition: 0 })).toEqual({ offset: 1, metadata: 'made' });
});
