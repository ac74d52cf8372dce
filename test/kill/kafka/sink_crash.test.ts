import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { numbered, produce } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import {
  committedIn,
  createSinkLane,
  runHere,
  type SinkLane,
  type SinkWorld,
  useSinkParts,
  wordsIn,
} from '#test/integration/kafka/sink_fixture.ts';
import type { SinkRow } from '#test/integration/kafka/sink_member.ts';
import { startChild } from '#test/kill/child.ts';
import type { SinkChildOptions } from './sink_child.ts';

const TEST_MS = 90_000;
const STALL_MS = 14_000;
const CHILD = new URL('./sink_child.ts', import.meta.url);
const TEXTS = numbered('word', 12, 1);
const LATER = numbered('later', 8, 1);
const WORDS = [...TEXTS, ...LATER].map(({ value }) => value);
const parts = useSinkParts();

function member({ addresses }: SinkWorld, retryTopic: SinkLane, facts: Partial<SinkChildOptions>) {
  const { kafkaBrokers, clickhouseUrl } = addresses;
  const shared = { brokers: kafkaBrokers, clickhouseUrl, blockRowsMax: 12, token: 'planned' };
  return startChild(CHILD, { ...shared, ...retryTopic, ...facts });
}

/** A member is killed in its first block; more records come; an heir with other limits goes on. */
async function killOne(facts: Partial<SinkChildOptions>): Promise<{ words: string[]; blocks: string[] }> {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  await produce(world.kafka, retryTopic.topic, TEXTS);
  const killed = member(world, retryTopic, facts);
  expect(await killed.ended).toBe('SIGKILL');
  expect(await committedIn(world, retryTopic)).toEqual({
    offset: '0',
    metadata: expect.stringMatching(/^plan@[\w-]+:0:0-11$/),
  });
  await produce(world.kafka, retryTopic.topic, LATER);
  const blocks: string[] = [];
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    blocks.push(`${token.split('/').at(-1)} of ${rows.length}`);
    await insertBlock(world.warehouse, retryTopic.table, facts.token === 'random' ? `other ${token}` : token, rows);
  };
  await runHere(world, retryTopic, { insert });
  await until('all to be committed', async () => (await committedIn(world, retryTopic))?.offset === '20');
  return { words: await wordsIn(world, retryTopic), blocks };
}

for (const die of ['planned', 'inserted'] as const) {
  test(`a member killed when its block was ${die}: the block is formed again and each row stands once`, {
    timeout: TEST_MS,
  }, async () => {
    expect(await killOne({ die })).toEqual({ words: WORDS, blocks: ['0-11 of 12', '12-19 of 8'] });
  });
}

test('with a token that does not name the block the same course doubles its rows', { timeout: TEST_MS }, async () => {
  const { words } = await killOne({ die: 'inserted', token: 'random' });
  expect(words).toEqual([...TEXTS.flatMap(({ value }) => [value, value]), ...LATER.map(({ value }) => value)]);
});

test('a member that stalls between plan and insert while another takes over writes nothing twice', {
  timeout: TEST_MS,
}, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  await produce(world.kafka, retryTopic.topic, TEXTS);
  const stalled = member(world, retryTopic, { stallMs: STALL_MS });
  await stalled.said('block 0-11 of 12');
  await produce(world.kafka, retryTopic.topic, LATER);
  const heir = member(world, retryTopic, { blockRowsMax: 8 });
  await heir.said('inserted');
  await stalled.said('inserted');
  await until('all to be committed', async () => (await committedIn(world, retryTopic))?.offset === '20');
  expect(await wordsIn(world, retryTopic)).toEqual(WORDS);
});
