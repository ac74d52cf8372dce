import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { InBatch } from '#infra/kafka/consumer/consumption.ts';
import { createPoisonPillGuard } from '#infra/kafka/consumer/poison_pill_guard.ts';

const AT = { topic: 'in', partition: 0 };
const refused = new Error('the broker is away');

function batchOf(...offsets: number[]): InBatch {
  const records = offsets.map((offset) => ({ offset, key: null, value: null, headers: {}, timestampMs: 0 }));
  const lastOffset = offsets.at(-1) ?? -1;
  const behind = { lastOffset, endOffset: lastOffset + 1 };
  const taken = records as unknown as InBatch['records'];
  return { ...AT, ...behind, records: taken, lag: 0, owned: () => true, stopping: () => false };
}

/** A guard whose steps are written down, and fail as often as is said. */
function guardThat(fails: Partial<Record<'metadata' | 'deadLetter', number>>, metadata = '') {
  const left: Record<string, number> = { ...fails };
  const steps: string[] = [];
  const step = (kind: string, text: string): undefined => {
    const failures = left[kind] ?? 0;
    left[kind] = failures - 1;
    if (failures > 0) throw refused;
    steps.push(text);
  };
  const offsetsOf = ({ records }: InBatch): string => records.map(({ offset }) => offset).join(',');
  const guard = createPoisonPillGuard({
    commitMetadata: async (_, offset, text) => step('metadata', `metadata ${offset} ${text}`),
    process: async (batch) => step('process', `process ${offsetsOf(batch)}`),
    processSearched: async (batch) => step('search', `search ${offsetsOf(batch)}`),
    deadLetter: async (batch) => step('deadLetter', `dead letter ${offsetsOf(batch)}`),
    onSearch: ({ partition }, isOn) => steps.push(`${isOn ? 'begin' : 'end'} ${partition}`),
    logger: pino({ level: 'silent' }),
  });
  guard.acquired(AT, metadata);
  return { guard, steps };
}

test('the first batch of a start is written down before it is processed, and no other', async () => {
  const { guard, steps } = guardThat({});
  await guard.process(batchOf(3, 4));
  await guard.process(batchOf(5));
  expect(steps).toEqual(['metadata 3 starts:1:4', 'search 3,4', 'process 5']);
});

test('metadata whose commit fails is committed by the batch that comes next', async () => {
  const { guard, steps } = guardThat({ metadata: 1 }, 'starts:1:4');
  await expect(guard.process(batchOf(3, 4))).rejects.toBe(refused);
  await guard.process(batchOf(3, 4));
  expect(steps).toEqual(['metadata 3 starts:2:4', 'search 3,4']);
});

test('a dead letter that fails is written by the batch that comes next', async () => {
  const { guard, steps } = guardThat({ deadLetter: 1 }, 'alone:6:3');
  await expect(guard.process(batchOf(3, 4))).rejects.toBe(refused);
  await guard.process(batchOf(3, 4));
  await guard.process(batchOf(5));
  expect(steps).toEqual(['begin 0', 'begin 0', 'dead letter 3', 'end 0', 'process 4', 'process 5']);
});

test('what lies behind the searched records is processed as always', async () => {
  const { guard, steps } = guardThat({}, 'starts:1:4');
  await guard.process(batchOf(7, 8));
  expect(steps).toEqual(['process 7,8']);
});
