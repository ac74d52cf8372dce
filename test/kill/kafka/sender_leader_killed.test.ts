import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WATCHDOG_MS } from '#infra/concurrency/time_limits.ts';
import { provisionTopics } from '#infra/kafka/provision.ts';
import { createSender } from '#infra/kafka/sender.ts';
import { brokersIn } from '#services/local/parts/parts.ts';
import { kafkaOf, readCommitted, uniqueName } from '#test/harness/kafka.ts';
import { startOwnParts } from '#test/harness/own_parts.ts';
import { discard } from '#test/harness/parts.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { until } from '#test/harness/until.ts';

const TEST_MS = 300_000;
const PARTITIONS = 12;
const RETRIES = 8;
/** More than one of each partition in a request. */
const RECORDS_AT_ONCE = 30;

test('what was acknowledged while leaders were killed is there, in order, though requests span partitions', {
  timeout: TEST_MS,
}, async () => {
  const scratch = await makeScratch();
  const parts = await startOwnParts(scratch.path, ['kafka'], 3);
  const brokers = brokersIn(parts.parts);
  try {
    const kafka = kafkaOf(parts.addresses.kafkaBrokers, uniqueName('sender'), RETRIES);
    const topic = uniqueName('raw');
    const declared = { name: topic, partitions: PARTITIONS, config: {}, schema: 'event_batch' } as const;
    await provisionTopics(kafka, [declared], brokers.length);
    const sender = await createSender({
      ...{ kafka, topic, requestBytesMax: 1024 * 1024, queuedBytesMax: 16 * 1024 * 1024, deadlineMs: 5_000 },
      ...{ nowMs: () => performance.now(), watchdogMs: WATCHDOG_MS, isClusterAlive: () => true },
      onFatal(error) {
        throw error;
      },
    });
    const accepted: number[] = [];
    let sent = 0;
    async function sendSome(): Promise<boolean> {
      const before = accepted.length;
      const some = Array.from({ length: RECORDS_AT_ONCE }, async () => {
        const id = sent++;
        const { ok } = await sender.send(id % PARTITIONS, Buffer.from(String(id)));
        if (ok) accepted.push(id);
      });
      await Promise.all(some);
      return accepted.length - before === RECORDS_AT_ONCE;
    }
    for (const broker of brokers) {
      await until('all to be accepted', sendSome);
      const sending = Promise.all(
        Array.from({ length: 20 }, async (_, at) => {
          await sleep(25 * at);
          await sendSome();
        }),
      );
      await sleep(150);
      broker.kill('SIGKILL');
      await sending;
      await broker.start();
    }
    await until('all to be accepted', sendSome);
    const found = await readCommitted(kafka, topic, PARTITIONS);
    const there = new Set(found.map(({ value }) => Number(value)));
    expect(accepted.filter((id) => !there.has(id))).toEqual([]);
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const first = [...there].filter((id) => id % PARTITIONS === partition);
      expect(first).toEqual(first.toSorted((one, other) => one - other));
    }
    await sender.stop();
  } finally {
    await discard(parts);
    await scratch.clear();
  }
});
