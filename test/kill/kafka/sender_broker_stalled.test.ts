import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readCommitted } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { DEADLINE_MS, openSender, PARTITIONS } from '#test/integration/kafka/sender_fixture.ts';
import { useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';

const TEST_MS = 60_000;
const STOPPING_MS = 1_000;
const kafka = useOwnKafka();

test('a broker that stands still is told by the deadline, and sending goes on when it moves', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const { topic, sender } = await openSender(world);
  expect(await sender.send(0, Buffer.from('before'))).toEqual({ ok: true });
  world.broker.kill('SIGSTOP');
  // It stands still only once a certain thread of it has run, which on busy cores takes a moment.
  await sleep(STOPPING_MS);
  const sentMs = performance.now();
  const results = await Promise.all([sender.send(0, Buffer.from('during')), sender.send(1, Buffer.from('during'))]);
  expect(results).toEqual([0, 1].map(() => ({ ok: false, code: 'not_acknowledged' })));
  expect(performance.now() - sentMs).toBeLessThan(DEADLINE_MS + 1_000);
  world.broker.kill('SIGCONT');
  const accepted: string[] = [];
  await until('an acknowledgement', async () => {
    const value = `after-${accepted.length}`;
    const { ok } = await sender.send(0, Buffer.from(value));
    if (ok) accepted.push(value);
    return ok;
  });
  const values = (await readCommitted(world.kafka, topic, PARTITIONS)).map(({ value }) => value);
  for (const value of ['before', ...accepted]) expect(values).toContain(value);
  await until('the queue to be empty', () => sender.queuedBytes() === 0);
});
