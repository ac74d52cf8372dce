import { expect, onTestFinished, test, vi } from 'vitest';
import { differences, numbered, produce, readCommitted, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { early, forgetful } from './forgetful.ts';
import { setOffset } from './set_offset.ts';
import { createLane, isDone, joinStage, passOn, useKafka } from './stage_fixture.ts';
import { watchedConsumers } from './watched_consumers.ts';

const OUTPUTS = 3;
const TEST_MS = 60_000;
const kafka = useKafka();

test('each record is passed on once', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 4, OUTPUTS);
  const texts = numbered('a', 400, 4);
  await produce(world.kafka, retryTopic.input, texts);
  await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS));
  await until('the group to be done', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('the order of an input partition is kept', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, 1);
  await joinStage(world, retryTopic, passOn(retryTopic.output, 1));
  const texts = numbered('o', 300, 1);
  for (let at = 0; at < texts.length; at += 50) await produce(world.kafka, retryTopic.input, texts.slice(at, at + 50));
  await until('the group to be done', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, 1);
  expect(found.map(({ value }) => value)).toEqual(texts.map(({ value }) => value));
});

test('a batch that failed is taken again from the committed offset', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, OUTPUTS);
  const pass = passOn(retryTopic.output, OUTPUTS);
  let calls = 0;
  await joinStage(world, retryTopic, async (batch) => {
    calls++;
    if (calls === 2) throw Object.assign(new Error('once'), { recovery: 'again' });
    return pass(batch);
  });
  const texts = numbered('f', 60, 1);
  for (let at = 0; at < 60; at += 20) {
    await produce(world.kafka, retryTopic.input, texts.slice(at, at + 20));
    await until('the group to be done', () => isDone(world, retryTopic));
  }
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(calls).toBeGreaterThanOrEqual(4);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('a coordinator that forgot what was committed doubles nothing', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, OUTPUTS);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const { admin, forget } = forgetful(world.admin);
  let fails = false;
  const transform: typeof pass = async (batch) => {
    if (!fails) return pass(batch);
    fails = false;
    throw Object.assign(new Error('once'), { recovery: 'again' });
  };
  await joinStage(world, retryTopic, transform, { admin });
  const texts = numbered('g', 40, 1);
  await produce(world.kafka, retryTopic.input, texts.slice(0, 20));
  await until('the first half to be done', () => isDone(world, retryTopic));
  forget();
  fails = true;
  await produce(world.kafka, retryTopic.input, texts.slice(20));
  await until('the group to be done', () => isDone(world, retryTopic));
  expect(fails).toBe(false);
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('a new process that is told an early part of the offsets doubles nothing', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 2, OUTPUTS);
  const texts = numbered('e', 60, 2);
  await produce(world.kafka, retryTopic.input, texts.slice(0, 40));
  const earlier = await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS));
  await until('the first part to be done', () => isDone(world, retryTopic));
  await earlier.stop();
  await produce(world.kafka, retryTopic.input, texts.slice(40));
  await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS), { admin: early(world.admin, 3) });
  await until('the group to be done', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('a coordinator that forgot is told again, though no more records come', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, OUTPUTS);
  const texts = numbered('t', 20, 1);
  await produce(world.kafka, retryTopic.input, texts);
  const earlier = await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS));
  await until('the group to be done', () => isDone(world, retryTopic));
  await earlier.stop();
  await setOffset(world, { ...retryTopic, topic: retryTopic.input }, { offset: '3', metadata: '' });
  expect(await isDone(world, retryTopic)).toBe(false);
  await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS));
  await until('the group to be done again', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('a group that is deleted while nobody is in it goes on where it was, but not in a topic made anew', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 2, OUTPUTS);
  const texts = numbered('d', 40, 2);
  await produce(world.kafka, retryTopic.input, texts.slice(0, 20));
  const earlier = await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS));
  await until('the first half to be done', () => isDone(world, retryTopic));
  await earlier.stop();
  await until('no members', () => world.admin.deleteGroups([retryTopic.groupId]).then(() => true));
  await produce(world.kafka, retryTopic.input, texts.slice(20));
  const later = await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS));
  await until('the group to be done', () => isDone(world, retryTopic));
  expect(differences(await readCommitted(world.kafka, retryTopic.output, OUTPUTS), valuesOf(texts))).toEqual([]);
  await later.stop();
  await world.admin.deleteTopics({ topics: [retryTopic.input] });
  await until('no topic', async () => !(await world.admin.listTopics()).includes(retryTopic.input));
  await world.admin.createTopics({ topics: [{ topic: retryTopic.input, numPartitions: 2 }], waitForLeaders: true });
  const anew = numbered('e', 10, 2);
  await produce(world.kafka, retryTopic.input, anew);
  await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS));
  await until('the topic made anew to be done', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf([...texts, ...anew]))).toEqual([]);
});

test('what comes while a partition lingers goes into one batch', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, OUTPUTS);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const { kafka: client, watched } = watchedConsumers(world.brokers);
  const batches: number[] = [];
  const counting: typeof pass = (batch) => {
    batches.push(batch.records.length);
    return pass(batch);
  };
  const lingerMs = 200;
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  await joinStage(world, retryTopic, counting, { kafka: client, lingerMs });
  const texts = numbered('p', 16, 1);
  for (let at = 0; at < texts.length; at += 4) {
    await produce(world.kafka, retryTopic.input, texts.slice(at, at + 4));
    await until('the records to be fetched', () => watched.fetched === at + 4);
  }
  expect(batches).toEqual([4]);
  nowMs += lingerMs;
  await until('the group to be done', () => isDone(world, retryTopic));
  expect(batches).toEqual([4, 12]);
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('work that outlasts a rebalance is told to stop, so that nobody does it a second time', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, OUTPUTS);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const worked: string[] = [];
  let told = false;
  const work: typeof pass = async (batch) => {
    const done: typeof batch.records = [];
    for (const record of batch.records) {
      told ||= batch.stopping();
      if (batch.stopping()) break;
      worked.push(String(record.value));
      done.push(record);
      if (!told && done.length === 5) await until('the work to be told to stop', () => batch.stopping());
    }
    const rest = batch.records[done.length];
    const passed = await pass({ ...batch, records: done });
    return rest === undefined ? passed : { ...passed, leave: { offset: rest.offset, notBeforeMs: 0 } };
  };
  const texts = numbered('w', 100, 1);
  await produce(world.kafka, retryTopic.input, texts);
  await joinStage(world, retryTopic, work, { drainMs: 2_000 });
  await until('the work to begin', async () => worked.length > 0);
  await joinStage(world, retryTopic, work, { drainMs: 2_000 });
  await until('the group to be done', () => isDone(world, retryTopic));
  expect(told).toBe(true);
  expect([...worked].sort()).toEqual([...valuesOf(texts)].sort());
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('an error nobody foresaw stops the process', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, OUTPUTS);
  const fatal = Promise.withResolvers<unknown>();
  const unforeseen = new TypeError('unforeseen');
  await joinStage(
    world,
    retryTopic,
    async () => {
      throw unforeseen;
    },
    { onFatal: fatal.resolve },
  );
  await produce(world.kafka, retryTopic.input, numbered('u', 1, 1));
  expect(await fatal.promise).toBe(unforeseen);
  expect(await isDone(world, retryTopic)).toBe(false);
});

test('a batch without outputs right behind another is committed', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, 1);
  const pass = passOn(retryTopic.output, 1);
  const failures: unknown[] = [];
  let batches = 0;
  await joinStage(
    world,
    retryTopic,
    async (batch) => {
      const first = batch.records.slice(0, 1);
      const result = await pass({ ...batch, records: first });
      const leave = { offset: (first[0]?.offset ?? 0) + 1, notBeforeMs: 0 };
      return { ...result, outputs: batches++ % 2 === 0 ? result.outputs : [], leave };
    },
    { onFatal: (error) => failures.push(error) },
  );
  await produce(world.kafka, retryTopic.input, numbered('n', 20, 1));
  await until('the group to be done', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, 1);
  expect(found.map(({ value }) => value)).toEqual(Array.from({ length: 10 }, (_, index) => `n-${index * 2}`));
  expect({ failures, batches }).toEqual({ failures: [], batches: 20 });
});
