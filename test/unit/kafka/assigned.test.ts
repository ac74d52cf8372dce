import { expect, test } from 'vitest';
import { consume } from '#infra/kafka/consumer/consume.ts';
import { createLogger } from '#infra/log/logger.ts';
import { until } from '#test/harness/until.ts';
import { fakeKafka } from './fake_consumer.ts';

const joined = (...partitions: number[]): object => ({ memberAssignment: { t: partitions } });

test("what was fetched of a partition that is somebody else's by now is not taken", async () => {
  const { kafka, consumers } = fakeKafka();
  const told: string[] = [];
  const toldOf = (count: number) =>
    until(
      `${count} things done`,
      () => told,
      ({ length }) => length >= count,
    );
  const consumption = await consume({
    kafka,
    groupId: 'g',
    topics: ['t'],
    sessionTimeoutMs: 6_000,
    concurrency: 1,
    handlers: {
      async acquire({ partition }) {
        told.push(`acquired ${partition}`);
        return 5;
      },
      async process({ partition, records }) {
        told.push(`took ${records.length} of ${partition}`);
        return undefined;
      },
    },
    logger: createLogger('test', 'silent'),
    onFatal(error) {
      throw error;
    },
  });
  const [consumer] = consumers;
  consumer?.emit('GROUP_JOIN', joined(0, 1));
  await consumer?.fetch(1, 5, 6);
  await toldOf(2);
  consumer?.emit('GROUP_JOIN', joined(0));
  await consumer?.fetch(1, 7);
  // Taken behind it, so that whatever was to be taken before is by now.
  await consumer?.fetch(0, 5);
  await toldOf(4);
  expect(told).toEqual(['acquired 1', 'took 2 of 1', 'acquired 0', 'took 1 of 0']);
  expect(consumer?.resolved).toEqual(['6', '5']);
  await consumption.stop();
});
