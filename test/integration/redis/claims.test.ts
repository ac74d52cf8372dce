import { expect, onTestFinished, test, vi } from 'vitest';
import { createDedupIndex, type DedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { dedupKey } from '#pipelines/dedup/dedup.ts';
import { BUCKET_CHARS, claim, claimStoreSuite, DAY_MS, timedClaims, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { beginIncarnation, onCluster, useRedis } from '#test/harness/redis.ts';
import { redisByClock } from '#test/harness/redis_clock.ts';

const redis = useRedis();
const OPTIONS = { windowMs: WINDOW_MS, bucketChars: BUCKET_CHARS, cluster: onCluster() };
/** A single server may hold claims as a cluster does, and a cluster those only. */
const LAYOUTS = onCluster() ? [true] : [false, true];
/** Every bucket is swept once in this time. */
const ROUND_MS = WINDOW_MS / 4;
const NOW_MS = Date.UTC(2026, 9, 1);
const POSITION = { partition: 0, offset: 1, index: 0 };
let opened = 0;

/** A store whose keys no other one of this file has: a site of another number is another digest. */
function create(cluster: boolean) {
  const mark = `${opened++}-`;
  return timedClaims((nowMs) => {
    const store = createDedupIndex(redisByClock(redis(), nowMs), { ...OPTIONS, cluster });
    return {
      async claim(claims) {
        await beginIncarnation(store.epoch);
        return store.claim(claims.map((one) => ({ ...one, field: mark + one.field })));
      },
    };
  });
}

for (const cluster of LAYOUTS) {
  claimStoreSuite(`claims in Redis${cluster ? ', cut for a cluster' : ''}`, () => create(cluster));
}

/** A store in a Redis that holds nothing else. */
async function alone(options: Partial<typeof OPTIONS> = {}): Promise<DedupIndex> {
  await redis().flushdb();
  const store = createDedupIndex(redis(), { ...OPTIONS, ...options });
  await beginIncarnation(store.epoch);
  return store;
}

/** The same, and a clock that Redis goes by. */
async function aloneAt(nowMs: () => number, options: Partial<typeof OPTIONS> = {}): Promise<DedupIndex> {
  await redis().flushdb();
  const store = createDedupIndex(redisByClock(redis(), nowMs), { ...OPTIONS, ...options });
  await beginIncarnation(store.epoch);
  return store;
}

const some = (count: number, name: string) => Array.from({ length: count }, (_, at) => claim(`${name}-${at}`, at));

for (const cluster of LAYOUTS) {
  test(`old claims are dropped in a round of calls, those that count are kept${cluster ? ', in a cluster' : ''}`, async () => {
    let nowMs = NOW_MS;
    const store = await aloneAt(() => nowMs, { cluster });
    const kept = some(1_000, 'kept');
    await store.claim(some(1_000, 'old'));
    nowMs = NOW_MS + 2 * ROUND_MS;
    await store.claim(kept);
    expect(await held()).toBe(2_000);
    const beginMs = NOW_MS + WINDOW_MS + 3_600_000;
    // Of a cluster each call sweeps as many buckets of each node as it has claims there; of one server with nothing to claim, a few.
    const [claims, calls] = cluster ? [kept, 100] : [[], 1_000];
    for (let call = 0; call <= 1.1 * calls; call++) {
      nowMs = beginMs + Math.round((call * ROUND_MS) / calls);
      await store.claim(claims);
    }
    expect(await held()).toBe(1_000);
    nowMs = beginMs;
    expect(await store.claim(kept)).toEqual(kept.map(({ coordinate }) => coordinate));
  });
}

// A cluster sweeps the shards in which something is claimed.
if (!onCluster()) {
  test('a call sweeps no more buckets than it has claims for, and the calls after it go on from there', async () => {
    let nowMs = NOW_MS;
    const store = await aloneAt(() => nowMs);
    await store.claim(some(1_000, 'old'));
    nowMs += 2 * WINDOW_MS;
    const left: number[] = [];
    for (let call = 0; call < 3; call++) {
      await store.claim([]);
      left.push(await buckets());
    }
    const begun = left[0] ?? 0;
    expect(begun).toBeGreaterThan(800);
    expect(left.every((count, at) => count >= begun - at * 4)).toBe(true);
    for (let call = 0; call < 1_024; call++) await store.claim([]);
    expect(await held()).toBe(0);
  });

  test('sweeping goes on after the window was made longer or shorter', async () => {
    for (const [before, after] of [
      [WINDOW_MS, 4 * WINDOW_MS],
      [4 * WINDOW_MS, WINDOW_MS],
    ] as const) {
      let nowMs = NOW_MS;
      const first = await aloneAt(() => nowMs, { windowMs: before });
      await first.claim(some(200, 'old'));
      const store = createDedupIndex(
        redisByClock(redis(), () => nowMs),
        { ...OPTIONS, windowMs: after },
      );
      await beginIncarnation(store.epoch);
      const beginMs = NOW_MS + after + DAY_MS;
      for (let call = 0; call <= 1_100; call++) {
        nowMs = beginMs + Math.round((call * after) / 4_000);
        await store.claim([]);
      }
      expect(await held()).toBe(0);
    }
  });
}

test('a host 9 days ahead or behind claims and sweeps as the others do', { timeout: 60_000 }, async () => {
  for (const days of [9, -9]) {
    const store = await alone();
    const claims = some(1_000, 'held');
    expect(await store.claim(claims)).toEqual(claims.map(() => null));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * DAY_MS });
    onTestFinished(() => void vi.useRealTimers());
    const other = createDedupIndex(redis(), OPTIONS);
    const taken = some(1_000, 'taken');
    expect(await other.claim(taken)).toEqual(taken.map(() => null));
    // More calls than one round of all buckets takes, if they all swept as much as a call may.
    for (let call = 0; call < 1_100; call++) await other.claim([]);
    vi.useRealTimers();
    for (let call = 0; call < 1_100; call++) await store.claim([]);
    const again = [...claims, ...taken].map((one) => ({ ...one, coordinate: 'later' }));
    expect(await store.claim(again)).toEqual([...claims, ...taken].map(({ coordinate }) => coordinate));
  }
});

test('keys of one script call of a cluster share a hash tag', async () => {
  const store = await alone({ cluster: true });
  await store.claim(some(50, 'id'));
  const keys = await claimKeys();
  expect(keys.map((key) => /^d:\{(.)\}:b:\1/.test(key))).toEqual(keys.map(() => true));
});

test('claims made again are held, each as long as a claim of its time, and change none that counts', async () => {
  let nowMs = NOW_MS - 2 * WINDOW_MS;
  const store = await aloneAt(() => nowMs);
  await store.claim([claim('gone', 8)]);
  nowMs = NOW_MS;
  await store.claim([claim('there', 1)]);
  const past = (id: string, offset: number, ageMs: number) => ({ ...claim(id, offset), claimedAtMs: NOW_MS - ageMs });
  // The last of them in a record that was stamped by a clock far ahead: its claim is not kept for longer than the others.
  const [old, ahead] = [past('old', 4, WINDOW_MS), past('ahead', 6, -3 * WINDOW_MS)];
  await store.restore([past('there', 2, 0), past('new', 3, 0), old, past('gone', 5, DAY_MS), ahead]);
  const questions = ['there', 'new', 'old', 'gone', 'ahead'].map((id) => claim(id, 9));
  expect(await store.claim(questions)).toEqual(['0:1:0', '0:3:0', '0:4:0', '0:5:0', '0:6:0']);
  nowMs += WINDOW_MS;
  expect(await store.claim([claim('old', 10)])).toEqual([null]);
  nowMs += DAY_MS;
  expect(await store.claim([claim('ahead', 10)])).toEqual([null]);
});

test('claims made by another layout count as lost, all of them, and go when they are made again', async () => {
  const before = await alone();
  await before.claim(some(200, 'id'));
  for (const changed of [{ bucketChars: BUCKET_CHARS + 1 }, { windowMs: 2 * WINDOW_MS }]) {
    const store = createDedupIndex(redis(), { ...OPTIONS, ...changed });
    expect(await store.epoch.state()).toMatchObject({ kind: 'lost', sinceMs: null });
    await expect(store.claim([claim('id-1', 9)])).rejects.toMatchObject({ code: 'index_lost' });
  }
  const longer = createDedupIndex(redis(), { ...OPTIONS, bucketChars: BUCKET_CHARS + 1 });
  await longer.epoch.take('test', 5_000);
  await longer.epoch.invalidate('test');
  await expect(before.claim([claim('id-1', 9)])).rejects.toMatchObject({ code: 'index_lost' });
  await longer.attempt();
  expect(await held()).toBe(0);
});

test('where no length of buckets is set, it is that of the claims that are there or being made', async () => {
  const unset = () => createDedupIndex(redis(), { ...OPTIONS, bucketChars: null });
  await redis().flushdb();
  const fresh = unset();
  await fresh.epoch.state();
  expect(fresh.bucketChars()).toBe(4);
  const made = await alone();
  await made.claim(some(200, 'id'));
  const [first, second] = [unset(), unset()];
  for (const store of [first, second]) {
    expect(await store.epoch.state()).toEqual({ kind: 'whole' });
    expect(store.bucketChars()).toBe(BUCKET_CHARS);
  }
  expect(await first.claim([claim('id-1', 9)])).toEqual([claim('id-1', 1).coordinate]);

  // Redis is emptied: a process that starts next does not know the length, and who begins first decides for all.
  await redis().flushdb();
  await fresh.epoch.state();
  await fresh.attempt();
  for (const store of [first, second]) expect(await store.epoch.state()).toMatchObject({ kind: 'lost', sinceMs: null });
  expect([first.bucketChars(), second.bucketChars()]).toEqual([4, 4]);
  await beginIncarnation(fresh.epoch);
  expect(await second.epoch.state()).toEqual({ kind: 'whole' });
  await expect(second.claim([claim('id-1', 9)])).rejects.toMatchObject({ code: 'index_lost' });
});

test('how full buckets are is told of what Redis packs', async () => {
  const store = await alone({ bucketChars: 1 });
  expect(await store.bucketFill()).toBe(0);
  const claims = Array.from({ length: 6_400 }, (_, at) => dedupKey('shop', `fill-${at}`, POSITION, 1));
  await store.claim(claims);
  expect(Math.abs((await store.bucketFill()) / (100 / 512) - 1)).toBeLessThan(0.1);
});

test('claims whose epoch tells no layout are not trusted, and stay where they are until they are made again', async () => {
  const before = await alone();
  await before.claim(some(200, 'id'));
  const epoch = onCluster() ? `d:{${claim('id-1', 9).bucket.charAt(0)}}:epoch` : 'd:epoch';
  const [runId = ''] = ((await redis().get(epoch)) ?? '').split(' ');
  await redis().set(epoch, runId);
  const store = createDedupIndex(redis(), OPTIONS);
  await expect(store.claim([claim('id-1', 9)])).rejects.toMatchObject({ code: 'index_lost' });
  expect(await store.epoch.state()).toMatchObject({ kind: 'lost', sinceMs: null });
  await store.epoch.take('test', 5_000);
  await store.epoch.invalidate('test');
  expect(await redis().get(epoch)).toBeNull();
  await store.epoch.release('test');
  await store.attempt();
  await beginIncarnation(store.epoch);
  expect(await store.claim([claim('id-1', 9)])).toEqual([claim('id-1', 1).coordinate]);
});

test('an attempt is gone on with while everything it restored is there, by the same layout', async () => {
  for (const cluster of LAYOUTS) {
    await redis().flushdb();
    const store = createDedupIndex(redis(), { ...OPTIONS, cluster });
    const first = await store.attempt();
    expect(first.passed.size).toBe(0);
    await first.pass(3, 700);
    await first.pass(5, 20);
    await first.pass(3, 900);
    const passed = new Map([
      [3, 900],
      [5, 20],
    ]);
    expect((await store.attempt()).passed).toEqual(passed);
    const other = createDedupIndex(redis(), { ...OPTIONS, cluster, bucketChars: BUCKET_CHARS + 1 });
    expect((await other.attempt()).passed.size).toBe(0);
    await first.pass(3, 1_000);
    expect((await other.attempt()).passed.size).toBe(0);
    await beginIncarnation(other.epoch);
    expect((await other.attempt()).passed.size).toBe(0);
  }
});

test('an attempt inherits nothing from one before, wherever the process that begins it dies', async () => {
  for (const cluster of LAYOUTS) {
    const step = cluster ? 29 : 1;
    const store = createDedupIndex(redis(), { ...OPTIONS, cluster });
    const changed = { ...OPTIONS, cluster, bucketChars: BUCKET_CHARS + 1 };
    for (const next of [store, createDedupIndex(redis(), changed)]) {
      for (let writes = 0, isDead = true; isDead; writes += step) {
        await redis().flushdb();
        await store.restore([{ ...claim('id', 1), claimedAtMs: Date.now() }]);
        const former = await store.attempt();
        await former.pass(3, 1_000_000);
        const dying = createDedupIndex(dyingAfter(writes), changed).attempt();
        isDead = (await Promise.allSettled([dying]))[0]?.status === 'rejected';
        await former.pass(3, 1_000_000);
        // What the former holder noted counts for its own layout only, and only while nothing was dropped.
        const mayInherit = next === store && (await held()) === 1;
        const { passed } = await next.attempt();
        expect({ writes, inherits: passed.size > 0 && !mayInherit }).toEqual({ writes, inherits: false });
      }
    }
  }
});

test('of two that begin an attempt side by side only the later one goes on', async () => {
  await redis().flushdb();
  const store = createDedupIndex(redis(), OPTIONS);
  const other = createDedupIndex(redis(), { ...OPTIONS, bucketChars: BUCKET_CHARS + 1 });
  const begun = await Promise.allSettled([store.attempt(), other.attempt()]);
  const refused = begun.filter(({ status }) => status === 'rejected');
  expect(refused).toMatchObject([{ reason: { code: 'index_lost' } }]);
});

test('a shard that was emptied takes the attempt with it', async () => {
  await redis().flushdb();
  const store = createDedupIndex(redis(), { ...OPTIONS, cluster: true });
  await (await store.attempt()).pass(3, 700);
  await redis().del('d:{Q}:attempt');
  expect((await store.attempt()).passed.size).toBe(0);
});

test('claims go to Redis some hundreds at a time, so that nobody else waits for them all', async () => {
  await alone();
  const claims = some(10_000, 'id');
  const again = claims.map((one) => ({ ...one, coordinate: 'later' }));
  let calls = 0;
  const counted = new Proxy(redis(), {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (name === 'evalsha') calls++;
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  const store = createDedupIndex(counted, OPTIONS);
  expect(await store.claim(claims)).toEqual(claims.map(() => null));
  expect(await store.claim(again)).toEqual(claims.map(({ coordinate }) => coordinate));
  await store.restore(again.map((one) => ({ ...one, claimedAtMs: Date.now() })));
  expect(calls).toBeGreaterThanOrEqual((3 * claims.length) / 500);
});

/** The server as a process sees it that dies after so many writes: none that follows arrives. */
function dyingAfter(writes: number): ReturnType<typeof redis> {
  let left = writes;
  const WRITES = ['set', 'del', 'unlink', 'evalsha', 'eval'];
  return new Proxy(redis(), {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      if (!WRITES.includes(String(name))) return found.bind(target);
      return (...args: unknown[]) => {
        if (left-- <= 0) return Promise.reject(new Error('dead'));
        return found.apply(target, args);
      };
    },
  });
}

/** How many claims stand, whoever still counts them. */
async function held(): Promise<number> {
  const counts = await Promise.all((await claimKeys()).map((key) => redis().hlen(key)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function buckets(): Promise<number> {
  return (await claimKeys()).length;
}

/** The hashes of claims, without what else stands beside them. */
async function claimKeys(): Promise<string[]> {
  return (await redis().keys('*')).filter((key) => /:b:/.test(key));
}
