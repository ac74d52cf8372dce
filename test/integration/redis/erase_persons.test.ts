import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createVisitorStateStore } from '#infra/redis/engage/engage.ts';
import { createPersonIndexEraser } from '#infra/redis/indexes/erase_persons.ts';
import { createIdentityStore, identityKeys } from '#infra/redis/indexes/identity_index.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { NO_IDENTIFIERS, question } from '#test/contract/identity/questions.ts';
import { beginIncarnation, onCluster, useRedis } from '#test/harness/redis.ts';

const redis = useRedis();

async function keysOf(site: string): Promise<string[]> {
  const { personsOf, memoriesOf } = identityKeys(onCluster());
  const keys = [...(await redis().keys(`${personsOf(site)}*`)), ...(await redis().keys(`${memoriesOf(site)}*`))];
  return keys.filter((key) => !key.endsWith(':v'));
}

test('nothing of erased persons is left, what others have stays, and who has become one with others is not erased', async () => {
  const store = createIdentityStore(redis());
  await beginIncarnation(store.epoch);
  const eraser = createPersonIndexEraser(redis());
  const site = randomUUID();
  const [laptop, phone, other] = ['laptop', 'phone', 'other'].map((id) => basePersonId(site, id)) as [
    string,
    string,
    string,
  ];
  const said = { ...NO_IDENTIFIERS, email: 'a'.repeat(64) };
  await store.resolve(site, [
    question(site, laptop, { nodes: ['theirs'], identifiers: said }),
    question(site, phone, { nodes: ['theirs'], identifiers: said }),
    question(site, other, { nodes: ['others'], identifiers: { ...said, email: 'b'.repeat(64) } }),
  ]);
  await createVisitorStateStore(redis()).note(site, 'phone', [{ kind: 'done', name: 'survey:nps' }], 1);
  const before = await keysOf(site);

  expect(await eraser.holdersOf(site, ['theirs', 'nobodys'])).toEqual([laptop, null]);
  expect(await eraser.erase(site, [laptop], ['theirs'])).toEqual({ ok: false, others: [phone] });
  const nowMs = await eraser.nowMs();
  expect(new Date(nowMs).getUTCFullYear()).toBe(new Date().getUTCFullYear());
  expect(await eraser.erase(site, [laptop, phone], ['theirs'], nowMs - 1)).toEqual({ ok: false, others: [] });
  expect((await keysOf(site)).sort()).toEqual(before.sort());

  const erased = await eraser.erase(site, [laptop, phone], ['theirs', 'others'], nowMs + 60_000);
  const left = await keysOf(site);
  expect(left.filter((key) => key.includes(laptop) || key.includes(phone) || key.endsWith('theirs'))).toEqual([]);
  expect(erased).toEqual({ ok: true, keys: before.length - left.length });
  expect(await eraser.holdersOf(site, ['others'])).toEqual([other]);
  expect(await eraser.erase(site, [laptop, phone], ['theirs'])).toEqual({ ok: true, keys: 0 });
});

test('who was refused somewhere is taken out there, and a person of much data costs no command for each pair of theirs', async () => {
  const store = createIdentityStore(redis());
  await beginIncarnation(store.epoch);
  const eraser = createPersonIndexEraser(redis());
  const site = randomUUID();
  const persons = Array.from({ length: 2_500 }, (_, at) => basePersonId(site, `id-${at}`));
  const nodes = Array.from({ length: 1_000 }, (_, at) => `node-${at}`);
  const refused = `${identityKeys(onCluster()).personsOf(site)}c:${nodes[7]}`;
  await redis().sadd(refused, ...persons, 'another');
  const removals = async (): Promise<number> =>
    Number(/cmdstat_srem:calls=(\d+)/.exec(await redis().info('commandstats'))?.[1] ?? 0);
  const before = await removals();
  await eraser.erase(site, persons, nodes);
  expect(await redis().smembers(refused)).toEqual(['another']);
  expect((await removals()) - before).toBeLessThan(10_000);
});
