import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { createRebuildableIndex } from '#infra/redis/indexes/rebuildable_index.ts';
import type { DedupKey } from '#pipelines/dedup/dedup.ts';
import { BUCKET_CHARS, claim, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useRedisCluster } from '#test/harness/own_cluster.ts';
import type { ClusterServer } from '#test/harness/redis_cluster.ts';
import { until } from '#test/harness/until.ts';

const cluster = useRedisCluster();
const OPTIONS = { windowMs: WINDOW_MS, bucketChars: BUCKET_CHARS, cluster: true };
/** The claims that passed, as `events.unique` keeps them. */
const log: { claim: DedupKey; atMs: number }[] = [];
/** From when on the index was rebuilt, each time. */
const rebuilds: (number | null)[] = [];

let redis: Redis;
let index: ReturnType<typeof open>;

function open(on: Redis) {
  const store = createDedupIndex(on, OPTIONS);
  const whole = createRebuildableIndex({
    ...{ name: 'claims', redis: on, epoch: store.epoch, logger: quiet },
    async rebuild(sinceMs) {
      rebuilds.push(sinceMs);
      const kept = log.filter(({ atMs }) => atMs >= (sinceMs ?? 0));
      await store.restore(kept.map((one) => ({ ...one.claim, claimedAtMs: one.atMs })));
    },
  });
  return { store, whole };
}

beforeAll(async () => {
  redis = createRedis(cluster().url, quiet);
  index = open(redis);
  await index.whole.await();
  // The tests say when masters are noted.
  index.whole.stop();
  rebuilds.length = 0;
});
afterAll(() => redis.disconnect());

const idsOf = (name: string, offset = 0): DedupKey[] =>
  Array.from({ length: 500 }, (_, at) => claim(`${name}-${at}`, offset + at));

/** Claims as the stage does: again where Redis could not say. Answers how many pass. */
async function pass(claims: readonly DedupKey[]): Promise<number> {
  const atMs = Date.now();
  const held = await until(
    'claims to be answered',
    () => index.whole.use(() => index.store.claim(claims)),
    (answers) => answers.length === claims.length,
  );
  const passed = claims.filter((one, at) => held[at] === null || held[at] === one.coordinate);
  log.push(...passed.map((one) => ({ claim: one, atMs })));
  return passed.length;
}

async function another(owner: ClusterServer): Promise<ClusterServer> {
  const found = (await cluster().masters()).find((master) => master !== owner);
  if (found === undefined) throw new Error('no other master');
  return found;
}

test('of a slot that is being moved nothing is answered, and after it claims go on without a rebuild', async () => {
  expect(await pass(idsOf('moved'))).toBe(500);
  const slot = 'd:{A}:epoch';
  await cluster().move(slot, await another(await cluster().ownerOf(slot)), async () => {
    await expect(index.store.claim(idsOf('moved', 1_000))).rejects.toMatchObject({ code: 'redis_unavailable' });
  });
  await expect(index.store.claim(idsOf('moved', 1_000))).rejects.toMatchObject({ code: 'index_lost' });
  expect(await pass(idsOf('moved', 1_000))).toBe(0);
  expect(rebuilds).toEqual([]);
});

test('slots are moved without a rebuild to a server that joined and is known; before that everything is rebuilt', async () => {
  await cluster().move('d:{B}:epoch', await cluster().grow());
  expect(await index.store.epoch.state()).toMatchObject({ kind: 'lost', sinceMs: null });
  expect(await pass(idsOf('moved', 1_000))).toBe(0);
  expect(rebuilds).toEqual([null]);

  const joined = await cluster().grow();
  await index.store.epoch.noteMasters();
  await cluster().move('d:{C}:epoch', joined);
  expect(await pass(idsOf('moved', 1_000))).toBe(0);
  expect(rebuilds).toEqual([null]);
});

test('a master that is lost with its last writes lets nothing pass twice, and what is older is not read again', async () => {
  expect(await pass(idsOf('early'))).toBe(500);
  rebuilds.length = 0;
  const begunMs = Date.now();
  const victim = await cluster().ownerOf('d:{Q}:epoch');
  await cluster().killWithLoss(victim, async () => {
    expect(await pass(idsOf('late'))).toBe(500);
  });
  expect(await pass(idsOf('late', 1_000))).toBe(0);
  expect(await pass(idsOf('early', 1_000))).toBe(0);
  expect(rebuilds).toEqual([expect.any(Number)]);
  expect(rebuilds[0]).toBeLessThanOrEqual(begunMs);

  // The one that was killed comes back as a replica of who took over.
  await victim.part.start();
  await cluster().whole();
  expect(await pass(idsOf('late', 1_000))).toBe(0);
  expect(rebuilds).toHaveLength(1);
});

test('a slot on a master that was lost right after it was moved there is rebuilt whole', async () => {
  rebuilds.length = 0;
  const slot = 'd:{Q}:epoch';
  const to = await another(await cluster().ownerOf(slot));
  await cluster().killWithLoss(to, () => cluster().move(slot, to));
  expect(await pass(idsOf('early', 1_000))).toBe(0);
  expect(await pass(idsOf('late', 1_000))).toBe(0);
  expect(rebuilds).toContain(null);
});
