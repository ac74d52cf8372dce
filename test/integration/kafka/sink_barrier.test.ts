import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { openTopicIds } from '#infra/kafka/offsets.ts';
import { numbered, produce } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { committedOffsets, createSinkLane, runHere, useSinkParts } from './sink_fixture.ts';
import { type SinkRow, wordsOf } from './sink_member.ts';

const TEST_MS = 90_000;
const PARTITIONS = 4;
const parts = useSinkParts();

test('what all partitions have is one block, announced at each of them', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world, PARTITIONS);
  await produce(world.kafka, retryTopic.topic, numbered('word', 12, PARTITIONS));
  const seen: string[] = [];
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    seen.push(`${token.split('/').at(-1)} of ${rows.length}`);
    seen.push(...(await committedOffsets(world, retryTopic)));
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
  };
  await runHere(world, retryTopic, { insert, blockRowsMax: 12, flushIntervalMs: 3_600_000 });
  const done = ['3 ', '3 ', '3 ', '3 '];
  await until('the block', async () => (await committedOffsets(world, retryTopic)).join() === done.join());
  const ranges = '0:0-2,1:0-2,2:0-2,3:0-2';
  const ids = await openTopicIds(world.kafka);
  const plan = `plan@${await ids.of(retryTopic.topic)}:${ranges}`;
  await ids.close();
  expect(seen).toEqual([`${ranges} of 12`, ...done.map(() => `0 ${plan}`)]);
});

test('the number of blocks does not grow with partitions and records', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world, PARTITIONS);
  const flushIntervalMs = 60_000;
  let nowMs = Date.now();
  const blocks: number[] = [];
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
    blocks.push(rows.length);
  };
  let gathered = 0;
  const toRows: typeof wordsOf = (topic, partition, record) => {
    gathered++;
    return wordsOf(topic, partition, record);
  };
  const clock = { flushIntervalMs, nowMs: () => nowMs };
  await runHere(world, retryTopic, { insert, toRows, blockRowsMax: 100_000, ...clock });
  const [rounds, sends, records] = [3, 5, 200];
  for (let round = 1; round <= rounds; round++) {
    for (let send = 0; send < sends; send++) {
      await produce(world.kafka, retryTopic.topic, numbered('x', records, PARTITIONS));
    }
    await until('all to be gathered', () => gathered === round * (sends * records + 1) - 1);
    nowMs += flushIntervalMs;
    // What comes after a flush interval takes with it all that waits.
    await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'x' }]);
    await until('the block', () => blocks.length === round);
  }
  expect(blocks).toEqual(Array.from({ length: rounds }, () => sends * records + 1));
});
