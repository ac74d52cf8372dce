import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TOPICS } from '#infra/kafka/topics.ts';
import { until } from '#test/harness/until.ts';
import { append, events, idsOn, newIds, rawRecord } from './stage_events.ts';
import { type StageWorld, startStage, useStageWorld } from './stages_fixture.ts';

const TEST_MS = 120_000;
const RECORDS = 40;
const EVENTS_PER_RECORD = 25;
const world = useStageWorld();

/** Sends events in records spread over the partitions, each id in one record. */
async function send(at: StageWorld, site: string, ids: readonly string[], everyMs = 0): Promise<void> {
  for (let first = 0; first < ids.length; first += EVENTS_PER_RECORD) {
    const record = await rawRecord(at, events(site, ids.slice(first, first + EVENTS_PER_RECORD)));
    await append(at, TOPICS.raw, (first / EVENTS_PER_RECORD) % at.eventPartitions, [record]);
    if (everyMs > 0) await sleep(everyMs);
  }
}

/** Whether dedup has committed the end of every partition. */
async function isDone({ session }: StageWorld): Promise<boolean> {
  const [topic] = await session.admin.fetchOffsets({ groupId: session.groupOf('dedup'), topics: [TOPICS.raw] });
  const ends = await session.admin.fetchTopicOffsets(TOPICS.raw);
  const committed = new Map(topic?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  return ends.every(({ partition, high }) => Number(high) === 0 || committed.get(partition) === Number(high));
}

const LOSSES: Record<string, (at: StageWorld) => Promise<unknown>> = {
  'is emptied': ({ redis }) => redis.flushall(),
  'is killed and comes back without its data': async ({ parts, redis }) => {
    await redis.config('SET', 'appendonly', 'no');
    await redis.flushall();
    parts.redis?.kill('SIGKILL');
    await sleep(1_000);
    await parts.redis?.start();
  },
  'is killed and comes back with what it had written': async ({ parts }) => {
    parts.redis?.kill('SIGKILL');
    await sleep(1_000);
    await parts.redis?.start();
  },
};

test.for(Object.keys(LOSSES))(
  'two dedups while Redis %s: each event passes once, sent twice or not',
  {
    timeout: TEST_MS,
  },
  async (how) => {
    const at = world();
    const site = `lost-${how.length}`;
    const members = [startStage(at, 'dedup'), startStage(at, 'dedup')];
    await Promise.all(members.map(({ ready }) => ready));
    const early = newIds(RECORDS * EVENTS_PER_RECORD);
    await send(at, site, early);
    await until('the first events to have passed', () => isDone(at));

    // Half of what was sent before comes again around the loss, mixed with what is new.
    const late = newIds(RECORDS * EVENTS_PER_RECORD);
    const mixed = late.map((id, index) => (index % 2 === 0 ? id : (early[index] as string)));
    const sending = send(at, site, mixed, 30);
    await sleep(400);
    await LOSSES[how]?.(at);
    await sending;
    await send(at, site, early);
    await until('all to be done', () => isDone(at));

    const expected = [...early, ...late.filter((_, index) => index % 2 === 0)].sort();
    expect((await idsOn(at, TOPICS.unique, site)).sort()).toEqual(expected);
    expect(members.map(({ log }) => log().some(({ msg }) => msg === 'index rebuilt'))).toContain(true);
    expect(await Promise.all(members.map(({ readiness }) => readiness()))).toEqual([200, 200]);
  },
);

test('while Redis is away dedup waits without ending and says that it is not ready', { timeout: TEST_MS }, async () => {
  const at = world();
  const member = startStage(at, 'dedup');
  await member.ready;
  at.parts.redis?.kill('SIGKILL');
  const ids = newIds(100);
  await send(at, 'away', ids);
  await sleep(15_000);
  expect(await member.readiness()).toBe(503);
  expect(await idsOn(at, TOPICS.unique, 'away')).toEqual([]);
  await at.parts.redis?.start();
  await until('all to be done', () => isDone(at));
  expect((await idsOn(at, TOPICS.unique, 'away')).sort()).toEqual([...ids].sort());
  expect(await member.readiness()).toBe(200);
  expect(member.log().filter(({ msg }) => msg === 'ready')).toHaveLength(1);
});

test('while Redis is full nothing passes, and everything once when it has room', { timeout: TEST_MS }, async () => {
  const at = world();
  const member = startStage(at, 'dedup');
  await member.ready;
  await at.redis.config('SET', 'maxmemory', '1mb');
  const ids = newIds(100);
  await send(at, 'full', ids);
  await member.said('batch failed, trying again from the committed offset');
  await sleep(2_000);
  expect(await idsOn(at, TOPICS.unique, 'full')).toEqual([]);
  await at.redis.config('SET', 'maxmemory', '0');
  await until('all to be done', () => isDone(at));
  expect((await idsOn(at, TOPICS.unique, 'full')).sort()).toEqual([...ids].sort());
});

test('a rebuilding that is killed half-way is gone on with by another', { timeout: TEST_MS }, async () => {
  const at = world();
  const settings = { FAILPOINTS_ALLOWED: 'true', FAILPOINT: 'dedup.rebuilding:2' };
  const first = startStage(at, 'dedup', settings);
  await first.ready;
  const ids = newIds(20_000);
  await send(at, 'half', ids);
  await until('all to be done', () => isDone(at));
  await at.redis.flushall();
  await send(at, 'half', ids.slice(0, 100));
  expect(await first.ended).toBe('SIGKILL');
  expect(await at.redis.exists('d:epoch')).toBe(0);
  const passed = Object.keys(await at.redis.hgetall('d:passed'));
  expect(passed.length).toBeGreaterThan(0);
  const second = startStage(at, 'dedup');
  await second.ready;
  await send(at, 'half', ids);
  await until('all to be done', () => isDone(at));
  expect((await idsOn(at, TOPICS.unique, 'half')).sort()).toEqual([...ids].sort());
  const restored = second
    .log()
    .flatMap(({ msg, restored }) => (msg === 'index records read' ? [Number(restored)] : []));
  expect(restored).toHaveLength(1);
  expect(restored[0]).toBeLessThan(ids.length);
  expect(await at.redis.exists('d:attempt', 'd:passed')).toBe(0);
});

test('another length of buckets makes the claims again before anything passes', { timeout: TEST_MS }, async () => {
  const at = world();
  const first = startStage(at, 'dedup');
  await first.ready;
  const ids = newIds(500);
  await send(at, 'length', ids);
  await until('all to be done', () => isDone(at));
  first.kill('SIGTERM');
  await first.ended;
  await send(at, 'length', ids);
  const second = startStage(at, 'dedup', { DEDUP_BUCKET_CHARS: '3' });
  await second.ready;
  await until('all to be done', () => isDone(at));
  expect((await idsOn(at, TOPICS.unique, 'length')).sort()).toEqual([...ids].sort());
  expect((await at.redis.keys('d:b:*')).filter((key) => key.length !== 'd:b:'.length + 3)).toEqual([]);
});

test('dedup refuses to start on a Redis that throws keys away', { timeout: TEST_MS }, async () => {
  const at = world();
  await at.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const member = startStage(at, 'dedup');
  expect(await member.ended).toBe(1);
  await expect(member.ready).rejects.toThrow('redis has maxmemory-policy allkeys-lru');
  await at.redis.config('SET', 'maxmemory-policy', 'noeviction');
});
