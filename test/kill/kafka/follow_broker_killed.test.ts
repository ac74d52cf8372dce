import { expect, test } from 'vitest';
import { createTopic } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { COMPACT, follow, write } from '#test/integration/kafka/follow_fixture.ts';
import { useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';

const TEST_MS = 90_000;
const kafka = useOwnKafka();

test('following goes on after the broker was killed and started again', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'follow', 1, COMPACT);
  await write(world, topic, 'before', 'yes');
  const { table, following } = await follow(world, topic);
  world.broker.kill('SIGKILL');
  await until('the broker to be gone', () => world.broker.pid === undefined);
  await until('the table to be known to be behind', () => !following.isCurrent());
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  await world.broker.start();
  await write(world, topic, 'after', 'yes');
  const writtenMs = performance.now();
  await until('the value written after', () => table.get('after') === 'yes');
  // Much less than the session of the member that crashed, for which an old group would wait.
  expect(performance.now() - writtenMs).toBeLessThan(10_000);
  await until('the table to be current again', () => following.isCurrent());
  expect(table.get('before')).toBe('yes');
});
