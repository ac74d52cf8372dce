import type { Kafka } from 'kafkajs';
import { expect, test } from 'vitest';
import { openFencedProducer } from '#infra/kafka/producers.ts';

const STEPS = ['connect', 'transaction', 'abort'] as const;
type Step = (typeof STEPS)[number];

/** A client one of whose steps fails, and which counts the connections that are open. */
function failingAt(failing: Step | null, disconnects = true): { kafka: Kafka; open(): number } {
  let open = 0;
  const run = (step: Step): void => {
    if (step === failing) throw new Error(`${step} failed`);
  };
  const producer = {
    async connect() {
      open++;
      run('connect');
    },
    async transaction() {
      run('transaction');
      return { abort: async () => run('abort') };
    },
    async disconnect() {
      if (!disconnects) throw new Error('disconnect failed');
      open--;
    },
  };
  return { kafka: { producer: () => producer } as unknown as Kafka, open: () => open };
}

test.each(STEPS)('a producer whose %s fails leaves no connection open', async (step) => {
  const { kafka, open } = failingAt(step);
  await expect(openFencedProducer(kafka, 'id')).rejects.toThrow(`${step} failed`);
  expect(open()).toBe(0);
});

test('what failed is told, also where the connection does not close', async () => {
  const { kafka } = failingAt('abort', false);
  await expect(openFencedProducer(kafka, 'id')).rejects.toThrow('abort failed');
});

test('one that is opened stays open until it is closed', async () => {
  const { kafka, open } = failingAt(null);
  const producer = await openFencedProducer(kafka, 'id');
  expect(open()).toBe(1);
  await producer.close();
  expect(open()).toBe(0);
});
