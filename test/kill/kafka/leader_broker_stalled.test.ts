import { expect, test } from 'vitest';
import { joinLeaderElection } from '#services/stage/stage.ts';
import { createTopic, quiet, SESSION_TIMEOUT_MS, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';

const TEST_MS = 120_000;
const kafka = useOwnKafka();

test('who has not heard of Kafka for a session leads no more, as another one may, and leads again when it is back', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'leading', 1);
  const group = uniqueName('group');
  const config = { sessionTimeoutMs: SESSION_TIMEOUT_MS };
  const session = { kafka: world.kafka, config, groupOf: (stage: string): string => `${group}.${stage}` };
  const failures: unknown[] = [];
  const runtime = { session, logger: quiet, fatal: (error: unknown): void => void failures.push(error) };
  const election = await joinLeaderElection(runtime, 'leaders', topic);
  try {
    await until('it leads', election.isLeader);
    world.broker.kill('SIGSTOP');
    try {
      await until('it leads no more', () => !election.isLeader(), Boolean, { timeoutMs: 4 * SESSION_TIMEOUT_MS });
    } finally {
      world.broker.kill('SIGCONT');
    }
    await until('it leads again', election.isLeader, Boolean, { timeoutMs: 60_000 });
    expect(failures).toEqual([]);
  } finally {
    await election.stop();
  }
});
