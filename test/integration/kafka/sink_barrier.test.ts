import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { numbered, produce } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { startChild } from '#test/kill/child.ts';
import type { SinkChildOptions } from './sink_child.ts';
import { createSinkLane, runHere, type SinkLane, type SinkWorld, useSinkParts, wordsIn } from './sink_fixture.ts';
import type { SinkRow } from './sink_member.ts';

const TEST_MS = 90_000;
const PARTITIONS = 4;
const CHILD = new URL('./sink_child.ts', import.meta.url);
const parts = useSinkParts();

function member({ addresses }: SinkWorld, lane: SinkLane, facts: Partial<SinkChildOptions>) {
  const { kafkaBrokers, clickhouseUrl } = addresses;
  const shared = { brokers: kafkaBrokers, clickhouseUrl, blockRowsMax: 1_000, token: 'planned' };
  return startChild(CHILD, { ...shared, ...lane, ...facts });
}

const sorted = (words: readonly string[]): string[] => words.toSorted();

/** Offsets that the group has committed, with their metadata. */
async function committedOffsets({ admin }: SinkWorld, { groupId, topic }: SinkLane): Promise<string[]> {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return (found?.partitions ?? [])
    .toSorted((a, b) => a.partition - b.partition)
    .map(({ offset, metadata }) => `${offset} ${metadata ?? ''}`);
}

test('what all partitions have is one block, announced at each of them', { timeout: TEST_MS }, async () => {
  const world = parts();
  const lane = await createSinkLane(world, PARTITIONS);
  await produce(world.kafka, lane.topic, numbered('word', 12, PARTITIONS));
  const seen: string[] = [];
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    seen.push(`${token.split('/').at(-1)} of ${rows.length}`);
    seen.push(...(await committedOffsets(world, lane)));
    await insertBlock(world.warehouse, lane.table, token, rows);
  };
  await runHere(world, lane, { insert, blockRowsMax: 12, flushIntervalMs: 3_600_000 });
  const done = ['3 ', '3 ', '3 ', '3 '];
  await until('the block', async () => (await committedOffsets(world, lane)).join() === done.join());
  const ranges = '0:0-2,1:0-2,2:0-2,3:0-2';
  expect(seen).toEqual([`${ranges} of 12`, ...done.map(() => `0 plan:${ranges}`)]);
});

for (const die of ['planned', 'inserted'] as const) {
  test(`a member killed when its block of four partitions was ${die}: two heirs, and each row stands once`, {
    timeout: TEST_MS,
  }, async () => {
    const world = parts();
    const lane = await createSinkLane(world, PARTITIONS);
    const texts = numbered('word', 40, PARTITIONS);
    const later = numbered('later', 20, PARTITIONS);
    await produce(world.kafka, lane.topic, texts);
    expect(await member(world, lane, { die, blockRowsMax: 40 }).ended).toBe('SIGKILL');
    await produce(world.kafka, lane.topic, later);
    const heirs = [await runHere(world, lane), await runHere(world, lane)];
    const done = ['15 ', '15 ', '15 ', '15 '];
    await until('all to be committed', async () => (await committedOffsets(world, lane)).join() === done.join());
    expect(heirs.map((heir) => heir.assigned().length)).toEqual([2, 2]);
    expect(sorted(await wordsIn(world, lane))).toEqual(sorted([...texts, ...later].map(({ value }) => value)));
  });
}

test('the number of blocks does not grow with partitions and records', { timeout: TEST_MS }, async () => {
  const world = parts();
  const lane = await createSinkLane(world, PARTITIONS);
  const flushIntervalMs = 1_000;
  const agesMs: number[] = [];
  let blocks = 0;
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    blocks++;
    await insertBlock(world.warehouse, lane.table, token, rows);
    for (const { word } of rows) agesMs.push(Date.now() - Number(word.split('-')[1]));
  };
  await runHere(world, lane, { insert, flushIntervalMs, blockRowsMax: 100_000 });
  await produce(world.kafka, lane.topic, numbered(`x-${Date.now()}`, PARTITIONS, PARTITIONS));
  let sent = PARTITIONS;
  await until('the first rows', () => agesMs.length === sent);
  const [began, before] = [performance.now(), blocks];
  while (performance.now() - began < 8_000) {
    await produce(world.kafka, lane.topic, numbered(`x-${Date.now()}`, 200, PARTITIONS));
    sent += 200;
  }
  await until('all rows', () => agesMs.length === sent);
  expect(blocks - before).toBeLessThanOrEqual((performance.now() - began) / (0.8 * flushIntervalMs) + 1);
  agesMs.sort((a, b) => a - b);
  expect(agesMs[Math.floor(agesMs.length / 2)]).toBeLessThan(2 * flushIntervalMs);
});
