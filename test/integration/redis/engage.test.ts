import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createRedis } from '#infra/redis/connection.ts';
import { createEngageGuard, createVisitorStateStore } from '#infra/redis/engage/engage.ts';
import { createPersonIndexEraser } from '#infra/redis/indexes/erase_persons.ts';
import { createIdentityStore, identityKeys } from '#infra/redis/indexes/identity_index.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { question } from '#test/contract/identity/questions.ts';
import { quiet } from '#test/harness/kafka.ts';
import { beginIncarnation, onCluster, useRedis } from '#test/harness/redis.ts';

const redis = useRedis();
const separate = useRedis();
const NAME = 'survey:nps';

test('what was shown counts once under one id, also where another was shown meanwhile, and with when it was last', async () => {
  const memory = createVisitorStateStore(redis());
  const site = randomUUID();
  for (const [id, at] of [
    ['a', 10],
    ['a', 20],
    ['b', 30],
    ['a', 35],
  ] as const) {
    await memory.note(site, 'v', [{ kind: 'shown', name: NAME, id }], at);
  }
  await memory.note(
    site,
    'v',
    [
      { kind: 'done', name: NAME },
      { kind: 'event', name: 'purchase', atMs: 50 },
    ],
    40,
  );
  await memory.note(site, 'v', [{ kind: 'event', name: 'purchase', atMs: 7 }], 60);
  const { seen, events } = await memory.read(site, 'v');
  expect(seen).toEqual(new Map([[NAME, { times: 2, lastMs: 30, doneMs: 40 }]]));
  expect(events.get('purchase')).toMatchObject({ times: 2, lastMs: 50 });
  const nothing = { seen: new Map(), events: new Map() };
  expect(await memory.read(site, 'w')).toEqual({ personId: basePersonId(site, 'w'), ...nothing });
  expect(await memory.read(randomUUID(), 'v')).toMatchObject(nothing);
});

test('of one thing no more than the last eight ids are kept', async () => {
  const memory = createVisitorStateStore(redis());
  const site = randomUUID();
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'b', 'a']) {
    await memory.note(site, 'v', [{ kind: 'shown', name: NAME, id }], 10);
  }
  expect((await memory.read(site, 'v')).seen.get(NAME)?.times).toBe(10);
});

test('it is forgotten after half a year, and holds no id of the visitor', async () => {
  const site = randomUUID();
  await createVisitorStateStore(redis()).note(site, 'visitor-with-a-name', [{ kind: 'shown', name: NAME, id: 'a' }], 1);
  const keys = await redis().keys(`${identityKeys(onCluster()).memoriesOf(site)}*`);
  expect(keys).toHaveLength(1);
  expect(keys[0]).not.toContain('visitor-with-a-name');
  expect(await redis().ttl(keys[0] ?? '')).toBeGreaterThan(179 * 86_400);
});

test('all ids of one person share it, whichever of them leads', async () => {
  const memory = createVisitorStateStore(redis());
  const store = createIdentityStore(redis());
  await beginIncarnation(store.epoch);
  for (const first of ['laptop', 'phone']) {
    const site = randomUUID();
    const second = first === 'laptop' ? 'phone' : 'laptop';
    await memory.note(site, 'laptop', [{ kind: 'shown', name: NAME, id: 'a' }], 10);
    const asked = [first, second].map((id, at) => ({
      ...question(site, basePersonId(site, id), { nodes: ['same address'] }),
      receivedAtMs: 1_000 + at,
      coordinate: `0:${at}:0`,
    }));
    for (const one of asked) await store.resolve(site, [one]);
    const [ofPhone, ofLaptop] = [await memory.read(site, 'phone'), await memory.read(site, 'laptop')];
    expect(ofPhone.seen.get(NAME)?.times).toBe(1);
    expect(ofPhone.personId).toBe(ofLaptop.personId);
    await memory.note(site, 'phone', [{ kind: 'shown', name: NAME, id: 'b' }], 20);
    expect((await memory.read(site, 'laptop')).seen.get(NAME)).toEqual({ times: 2, lastMs: 20, doneMs: null });
  }
});

const submission = (fields: object = {}) => {
  const nothing = { visitor: null, nonce: null, address: null, email: null, text: null, network: null, form: null };
  return { siteId: 'shop', submissionId: randomUUID(), nonceHeldMs: 86_460_000, ...nothing, ...fields };
};

test('a token goes with one submission, however often that is sent', async () => {
  const guard = createEngageGuard(redis());
  const first = submission({ nonce: randomUUID() });
  for (let at = 0; at < 2; at += 1) expect((await guard.count(first)).tokenUsed).toBe(false);
  expect((await guard.count({ ...first, submissionId: randomUUID() })).tokenUsed).toBe(true);
  expect((await guard.count({ ...first, siteId: 'other', submissionId: randomUUID() })).tokenUsed).toBe(false);
});

test('the token of what was sent is remembered for as long as that may be sent again', async () => {
  const guard = createEngageGuard(redis());
  const shown = submission({ nonce: randomUUID() });
  const sent = { ...shown, nonceHeldMs: 7 * 86_400_000 };
  const heldS = async () => redis().ttl(`engage:{shop}:token:${shown.nonce}`);
  await guard.count(shown);
  expect(await heldS()).toBeLessThanOrEqual(86_460);
  for (const again of [sent, shown]) {
    await guard.count(again);
    expect(await heldS()).toBeGreaterThan(6.9 * 86_400);
  }
});

test('a token goes with one visitor, and with who they say meanwhile that they are', async () => {
  const guard = createEngageGuard(redis());
  const first = submission({ nonce: randomUUID() });
  const usedBy = async (visitor: string | null) => (await guard.count({ ...first, visitor })).tokenUsed;
  for (const visitor of [null, 'a', 'b', 'a', 'b', null]) expect(await usedBy(visitor)).toBe(false);
  for (const visitor of ['c', 'd']) expect(await usedBy(visitor)).toBe(true);
  expect(await usedBy('a')).toBe(false);
  const keys = await redis().keys(`engage:{shop}:token:${first.nonce}`);
  expect(await redis().ttl(keys[0] ?? '')).toBeGreaterThan(86_000);
});

test('submissions are counted by address, e-mail address and text, a repeated one once, and not beyond every limit', async () => {
  const guard = createEngageGuard(redis());
  const same = { address: randomUUID(), email: randomUUID(), text: randomUUID() };
  const first = submission(same);
  expect(await guard.count(first)).toMatchObject({ tokenUsed: false, address: 1, email: 1, text: 1 });
  expect(await guard.count(first)).toMatchObject({ tokenUsed: false, address: 1, email: 1, text: 1 });
  expect(await guard.count(submission({ ...same, text: randomUUID() }))).toMatchObject({
    address: 2,
    email: 2,
    text: 1,
  });
  for (let at = 0; at < 150; at += 1) await guard.count(submission({ address: same.address }));
  expect(await guard.count(submission({ address: same.address }))).toMatchObject({ address: 128 });
  const plain = { network: randomUUID(), form: randomUUID() };
  expect(await guard.count(submission(plain))).toMatchObject({ address: 0, network: 1, form: 1 });
  expect(await guard.count(submission(plain))).toMatchObject({ network: 2, form: 2 });
});

test('a Redis that hangs keeps no page waiting, however many ask', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const hung = createRedis(`redis://127.0.0.1:${(silent.address() as AddressInfo).port}`, quiet);
  const memory = createVisitorStateStore(hung);
  const asked = await Promise.allSettled(Array.from({ length: 900 }, (_, at) => memory.read('shop', `v${at}`)));
  // Not the deadline of the connection, which is that of work nobody waits for.
  const reasons = asked.map((one) => one.status === 'rejected' && [one.reason.code, one.reason.message].join());
  expect(new Set(reasons)).toEqual(new Set(['redis_unavailable,redis: too late']));
  hung.disconnect();
  silent.close();
});

test('a Redis that is away is told', async () => {
  const away = createRedis('redis://127.0.0.1:1', quiet);
  await expect(createVisitorStateStore(away).read('shop', 'v')).rejects.toMatchObject({ code: 'redis_unavailable' });
  await expect(createEngageGuard(away).count(submission())).rejects.toMatchObject({ code: 'redis_unavailable' });
  away.disconnect();
});

test('what visitors saw may be in another Redis than who they are, and is erased there', async () => {
  const store = createIdentityStore(redis());
  await beginIncarnation(store.epoch);
  const [site, memory] = [randomUUID(), createVisitorStateStore(separate(), redis())];
  const persons = ['laptop', 'phone'].map((id) => basePersonId(site, id));
  await store.resolve(
    site,
    persons.map((person) => question(site, person, { nodes: ['theirs'] })),
  );
  await memory.note(site, 'laptop', [{ kind: 'shown', name: NAME, id: 'a' }], 10);
  await memory.note(site, 'phone', [{ kind: 'shown', name: NAME, id: 'b' }], 20);
  for (const visitor of ['laptop', 'phone']) {
    expect((await memory.read(site, visitor)).seen.get(NAME)).toMatchObject({ times: 2, lastMs: 20 });
  }
  expect((await memory.read(site, 'stranger')).seen.size).toBe(0);
  const erased = await createPersonIndexEraser(redis(), separate()).erase(site, persons, ['theirs']);
  expect(erased).toMatchObject({ ok: true });
  expect(await separate().keys(`engage:{${site}}:*`)).toEqual([]);
});
