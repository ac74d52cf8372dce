import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { insertBlock, WarehouseError } from '#infra/clickhouse/client.ts';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { numbered, produce, uniqueName, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { early, forgetful } from './forgetful.ts';
import { setOffset } from './set_offset.ts';
import { committedIn, createSinkLane, runHere, useSinkParts, wordsIn } from './sink_fixture.ts';
import { type SinkRow, wordsOf } from './sink_member.ts';
import { watchedConsumers } from './watched_consumers.ts';

const TEST_MS = 60_000;
const parts = useSinkParts();

/** Makes rows, and counts of how many records. */
function countedRows() {
  const made = { records: 0 };
  const toRows: typeof wordsOf = (topic, partition, record) => {
    made.records++;
    return wordsOf(topic, partition, record);
  };
  return { made, toRows };
}

test('a block is written when it is full, with all of what was fetched', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const texts = numbered('full', 25, 1);
  await produce(world.kafka, retryTopic.topic, texts);
  await runHere(world, retryTopic, { blockRowsMax: 10, flushIntervalMs: 3_600_000 });
  await until('a full block', async () => (await committedIn(world, retryTopic))?.offset === '25');
  expect(await wordsIn(world, retryTopic)).toEqual(texts.map(({ value }) => value));
});

test('a block is written when its records are large enough', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const written: number[] = [];
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    written.push(rows.length);
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
  };
  const { made, toRows } = countedRows();
  const limits = { blockBytesMax: 20, blockRowsMax: 1_000_000, flushIntervalMs: 3_600_000 };
  await runHere(world, retryTopic, { insert, toRows, ...limits });
  await produce(world.kafka, retryTopic.topic, numbered('seven', 2, 1));
  await until('the first to be gathered', () => made.records === 2);
  expect(written).toEqual([]);
  await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'seven-2' }]);
  await until('a full block', async () => (await committedIn(world, retryTopic))?.offset === '3');
  expect(written).toEqual([3]);
});

test('a block is written when it is old enough', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  await runHere(world, retryTopic, { flushIntervalMs: 400 });
  await produce(world.kafka, retryTopic.topic, numbered('old', 3, 1));
  await until('the block', async () => (await committedIn(world, retryTopic))?.offset === '3');
  expect(await wordsIn(world, retryTopic)).toEqual(['old-0', 'old-1', 'old-2']);
});

test('what comes a flush interval after the last block goes at once with what waits', {
  timeout: TEST_MS,
}, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const flushIntervalMs = 60_000;
  let nowMs = Date.now();
  const blocks: number[] = [];
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    blocks.push(rows.length);
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
  };
  const { made, toRows } = countedRows();
  await runHere(world, retryTopic, { insert, toRows, flushIntervalMs, nowMs: () => nowMs });
  await produce(world.kafka, retryTopic.topic, numbered('waiting', 3, 1));
  await until('the first to be gathered', () => made.records === 3);
  expect(blocks).toEqual([]);
  nowMs += flushIntervalMs;
  await produce(world.kafka, retryTopic.topic, numbered('coming', 2, 1));
  await until('the block', async () => (await committedIn(world, retryTopic))?.offset === '5');
  expect(blocks).toEqual([5]);
});

test('a block cut by age is written though the first try failed and nothing new comes', {
  timeout: TEST_MS,
}, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  let tries = 0;
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    if (++tries === 1) throw new WarehouseError('warehouse_unavailable', 'for a moment');
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
  };
  await runHere(world, retryTopic, { insert });
  await produce(world.kafka, retryTopic.topic, numbered('again', 3, 1));
  await until('the block', async () => (await committedIn(world, retryTopic))?.offset === '3');
  expect(await wordsIn(world, retryTopic)).toEqual(['again-0', 'again-1', 'again-2']);
  expect(tries).toBe(2);
});

test('a coordinator that forgot what was committed doubles nothing', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const { admin, forget } = forgetful(world.admin);
  let fails = false;
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
    if (!fails) return;
    fails = false;
    throw new WarehouseError('warehouse_unavailable', 'for a moment');
  };
  await runHere(world, retryTopic, { insert, admin });
  await produce(world.kafka, retryTopic.topic, numbered('first', 3, 1));
  await until('the first block', async () => (await committedIn(world, retryTopic))?.offset === '3');
  forget();
  fails = true;
  await produce(world.kafka, retryTopic.topic, numbered('second', 3, 1));
  await until('the block to be tried', () => !fails);
  await produce(world.kafka, retryTopic.topic, numbered('third', 1, 1));
  await until('all blocks', async () => (await committedIn(world, retryTopic))?.offset === '7');
  const words = ['first-0', 'first-1', 'first-2', 'second-0', 'second-1', 'second-2', 'third-0'];
  expect(await wordsIn(world, retryTopic)).toEqual(words);
});

test('what was fetched while a block failed is not taken twice', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const failing = Promise.withResolvers<never>();
  let tries = 0;
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    if (++tries === 1) await failing.promise;
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
  };
  const { kafka, watched } = watchedConsumers(world.addresses.kafkaBrokers);
  await runHere(world, retryTopic, { insert, kafka });
  await produce(world.kafka, retryTopic.topic, numbered('first', 3, 1));
  await until('the block to be tried', () => tries === 1);
  await produce(world.kafka, retryTopic.topic, numbered('second', 3, 1));
  await until('the others to be fetched', () => watched.fetched === 6);
  failing.reject(new WarehouseError('warehouse_unavailable', 'for a moment'));
  await until('both blocks', async () => (await committedIn(world, retryTopic))?.offset === '6');
  expect(await wordsIn(world, retryTopic)).toEqual([
    'first-0',
    'first-1',
    'first-2',
    'second-0',
    'second-1',
    'second-2',
  ]);
});

test('a record that cannot be read for a moment loses none before it, though nothing is committed yet', {
  timeout: TEST_MS,
}, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const taken: string[] = [];
  const toRows = async (topic: string, partition: number, record: InRecord): Promise<SinkRow[]> => {
    const text = record.value?.toString() ?? '';
    taken.push(text);
    if (text === 'second' && taken.filter((one) => one === text).length === 1) {
      throw new WarehouseError('warehouse_unavailable', 'for a moment');
    }
    return wordsOf(topic, partition, record);
  };
  const flushIntervalMs = 3_600_000;
  let nowMs = Date.now();
  await runHere(world, retryTopic, { toRows, flushIntervalMs, nowMs: () => nowMs });
  await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'first' }]);
  await until('the first to be gathered', () => taken.length === 1);
  await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'second' }]);
  await until('both to be gathered', () => taken.length === 4);
  nowMs += 2 * flushIntervalMs;
  // The sink looks at its clock when something comes; only later by itself.
  await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'third' }]);
  await until('the block', async () => (await committedIn(world, retryTopic))?.offset === '3');
  expect(taken).toEqual(['first', 'second', 'first', 'second', 'third']);
  expect(await wordsIn(world, retryTopic)).toEqual(['first', 'second', 'third']);
});

test('while a full block is being written no more of its topic is gathered', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world, 2);
  const hanging = Promise.withResolvers<void>();
  let tries = 0;
  const insert = async (_topic: string, token: string, rows: readonly SinkRow[]): Promise<void> => {
    if (++tries === 1) await hanging.promise;
    await insertBlock(world.warehouse, retryTopic.table, token, rows);
  };
  const { kafka, watched } = watchedConsumers(world.addresses.kafkaBrokers);
  const { made, toRows } = countedRows();
  await runHere(world, retryTopic, { kafka, insert, toRows, blockRowsMax: 3, flushIntervalMs: 3_600_000 });
  await produce(
    world.kafka,
    retryTopic.topic,
    [0, 1, 2].map((at) => ({ partition: 0, value: `held-${at}` })),
  );
  await until('the block to be tried', () => tries === 1);
  await produce(world.kafka, retryTopic.topic, [{ partition: 1, value: 'more-0' }]);
  await until('one more to be gathered', () => made.records === 4);
  // Each is queued before the next one is sent; none is fetched any more where four fetches wait.
  for (let at = 1; at < 5; at++) {
    await produce(world.kafka, retryTopic.topic, [{ partition: 1, value: `more-${at}` }]);
    await until('the record to be fetched', () => watched.fetched === 4 + at);
  }
  expect(made.records).toBe(4);
  const rest = [5, 6, 7, 8].map((at) => ({ partition: 1, value: `more-${at}` }));
  await produce(world.kafka, retryTopic.topic, rest);
  hanging.resolve();
  const asked = ['held-0', 'held-1', 'held-2', ...numbered('more', 9, 1).map(({ value }) => value)];
  // How many come with one fetch is the broker's to say, so that a block may be cut before the last of them.
  await until('the other blocks', async () => {
    await produce(world.kafka, retryTopic.topic, [{ partition: 1, value: 'later' }]);
    const written = (await wordsIn(world, retryTopic)).filter((word) => word !== 'later');
    return written.length === asked.length && asked.every((word) => written.includes(word));
  });
});

test('a record without rows harms none beside it', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  await runHere(world, retryTopic);
  await produce(
    world.kafka,
    retryTopic.topic,
    ['before', 'poison', 'after'].map((value) => ({ partition: 0, value })),
  );
  await until('the block', async () => (await committedIn(world, retryTopic))?.offset === '3');
  await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'poison' }]);
  await until('a block of nothing', async () => (await committedIn(world, retryTopic))?.offset === '4');
  expect(await wordsIn(world, retryTopic)).toEqual(['before', 'after']);
});

test('rows that ClickHouse will never take stop the process', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const fatal = Promise.withResolvers<unknown>();
  await runHere(world, retryTopic, {
    toRows: async () => [{ record_offset: 'four' as unknown as number, word: 'secret' }],
    onFatal: fatal.resolve,
  });
  await produce(world.kafka, retryTopic.topic, numbered('wrong', 1, 1));
  const error = await fatal.promise;
  expect(error).toMatchObject({ code: 'warehouse_refused', recovery: 'stop' });
  expect(String(error)).not.toContain('secret');
});

test('rows of a topic that was made anew under its name are stored, though a block stood there before', {
  timeout: TEST_MS,
}, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const earlier = await runHere(world, retryTopic);
  await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'before' }]);
  await until('the block', async () => (await wordsIn(world, retryTopic)).length === 1);
  await until('its offset', async () => (await committedIn(world, retryTopic))?.offset === '1');
  await earlier.stop();
  await world.admin.deleteTopics({ topics: [retryTopic.topic] });
  await until('no topic', async () => !(await world.admin.listTopics()).includes(retryTopic.topic));
  // The client's own waiting fails where the broker does not know the topic yet.
  await world.admin.createTopics({ topics: [{ topic: retryTopic.topic, numPartitions: 1 }], waitForLeaders: false });
  await until('its leader', () => world.admin.fetchTopicMetadata({ topics: [retryTopic.topic] }));
  await runHere(world, retryTopic);
  await produce(world.kafka, retryTopic.topic, [{ partition: 0, value: 'after' }]);
  await until('both blocks', async () => (await wordsIn(world, retryTopic)).join() === 'after,before');
});

test('a planned block whose last record is gone takes none behind it', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  await setOffset(world, retryTopic, { offset: '0', metadata: 'plan:0:0-3' });
  const producer = world.kafka.producer({
    transactionalId: uniqueName('gap'),
    maxInFlightRequests: 1,
    createPartitioner: explicitPartitioner,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  const messages = ['zero', 'one', 'two'].map((value) => ({ partition: 0, value }));
  await transaction.send({ topic: retryTopic.topic, messages });
  await transaction.commit();
  await producer.disconnect();
  await until('the transaction marker', async () => {
    const [end] = await world.admin.fetchTopicOffsets(retryTopic.topic);
    return end?.high === '4';
  });
  // Offset 3 is the transaction's marker, which no reader gets: as after compaction.
  await produce(world.kafka, retryTopic.topic, [
    { partition: 0, value: 'four' },
    { partition: 0, value: 'five' },
  ]);
  const blocks: string[] = [];
  await runHere(world, retryTopic, {
    insert: async (_topic, token, rows) => {
      blocks.push(`${token.split('/').at(-1)} ${rows.map(({ word }) => word).join()}`);
      await insertBlock(world.warehouse, retryTopic.table, token, rows);
    },
  });
  await until('all', async () => (await committedIn(world, retryTopic))?.offset === '6');
  expect(blocks).toEqual(['0-3 zero,one,two', '4-5 four,five']);
});

test('a new process that is told an early part of the offsets writes nothing twice', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const texts = numbered('once', 30, 1);
  await produce(world.kafka, retryTopic.topic, texts.slice(0, 20));
  const earlier = await runHere(world, retryTopic);
  await until('the first part', async () => (await committedIn(world, retryTopic))?.offset === '20');
  await earlier.stop();
  await produce(world.kafka, retryTopic.topic, texts.slice(20));
  await runHere({ ...world, admin: early(world.admin, 3) }, retryTopic);
  await until('the rest', async () => (await committedIn(world, retryTopic))?.offset === '30');
  expect(await wordsIn(world, retryTopic)).toEqual(texts.map(({ value }) => value));
});

test('a coordinator that forgot is told again, though no more records come', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  await produce(world.kafka, retryTopic.topic, numbered('told', 5, 1));
  const earlier = await runHere(world, retryTopic);
  await until('the block', async () => (await committedIn(world, retryTopic))?.offset === '5');
  await earlier.stop();
  await setOffset(world, retryTopic, { offset: '2', metadata: '' });
  await runHere(world, retryTopic);
  await until('the offset again', async () => (await committedIn(world, retryTopic))?.offset === '5');
  expect(await wordsIn(world, retryTopic)).toEqual(valuesOf(numbered('told', 5, 1)));
});

test('a plan that only the offset log has is finished', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const texts = numbered('planned', 6, 1);
  await produce(world.kafka, retryTopic.topic, texts.slice(0, 4));
  const dying = Promise.withResolvers<never>();
  const earlier = await runHere(world, retryTopic, {
    drainMs: 1,
    async insert(_topic, token, rows) {
      await insertBlock(world.warehouse, retryTopic.table, token, rows);
      await dying.promise;
    },
  });
  await until('the rows', async () => (await wordsIn(world, retryTopic)).length === 4);
  await earlier.stop();
  await setOffset(world, retryTopic, { offset: '0', metadata: '' });
  await produce(world.kafka, retryTopic.topic, texts.slice(4));
  await runHere(world, retryTopic);
  await until('all', async () => (await committedIn(world, retryTopic))?.offset === '6');
  expect(await wordsIn(world, retryTopic)).toEqual(valuesOf(texts));
});

test('a block that fails in the search for a poison pill is written once', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const texts = numbered('searched', 9, 1);
  await produce(world.kafka, retryTopic.topic, texts);
  await setOffset(world, retryTopic, { offset: '0', metadata: 'starts:2:8' });
  let tries = 0;
  await runHere(world, retryTopic, {
    deadLetter: async () => undefined,
    async insert(_topic, token, rows) {
      await insertBlock(world.warehouse, retryTopic.table, token, rows);
      if (++tries === 1) throw new WarehouseError('warehouse_unavailable', 'no answer');
    },
  });
  await until('all', async () => (await committedIn(world, retryTopic))?.offset === '9');
  expect(await wordsIn(world, retryTopic)).toEqual(valuesOf(texts));
});

test('rows that are committed count though the offset log cannot be written', { timeout: TEST_MS }, async () => {
  const world = parts();
  const retryTopic = await createSinkLane(world);
  const texts = numbered('counted', 3, 1);
  const refuseAll = async (): Promise<void> => {
    const configEntries = [{ name: 'max.message.bytes', value: '1' }];
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: retryTopic.offsets, configEntries };
    await world.admin.alterConfigs({ validateOnly: false, resources: [resource] });
    const probe = () => produce(world.kafka, retryTopic.offsets, [{ partition: 0, key: 'probe', value: '' }]);
    await until('a refusal', () =>
      probe().then(
        () => false,
        () => true,
      ),
    );
  };
  let counted = 0;
  await runHere(world, retryTopic, {
    async insert(_topic, token, rows) {
      await insertBlock(world.warehouse, retryTopic.table, token, rows);
      await refuseAll();
    },
    committed(_topic, _partition, rows) {
      counted += rows.length;
    },
  });
  await produce(world.kafka, retryTopic.topic, texts);
  await until('the rows to be counted', () => counted === 3);
  expect((await committedIn(world, retryTopic))?.offset).toBe('3');
});
