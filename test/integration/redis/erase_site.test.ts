import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSiteKeyEraser } from '#infra/redis/indexes/erase_persons.ts';
import { identityKeys } from '#infra/redis/indexes/identity_index.ts';
import { onCluster, useRedis } from '#test/harness/redis.ts';

const redis = useRedis();
const { personsOf, memoriesOf } = identityKeys(onCluster());

test('keys of a site go, and those of others stay, also of one whose id holds it', async () => {
  const site = randomUUID();
  const keysOf = (id: string): string[] => [
    ...[`${personsOf(id)}p:p_1`, `${personsOf(id)}n:email`, `${memoriesOf(id)}p_1`],
    ...[`engage:{${id}}:token:t`, `refusals.{${id}}.counts`, `tag.{${id}}.pages`],
  ];
  const others = [...keysOf(`${site}-2`), ...keysOf(`a-${site}`), `q:{${site}}:2026-10`];
  for (const key of [...keysOf(site), ...others]) await redis().set(key, '1');
  const erase = createSiteKeyEraser(redis());
  expect([await erase(site), await erase(site)]).toEqual([keysOf(site).length, 0]);
  for (const key of others) expect(await redis().exists(key)).toBe(1);
});
