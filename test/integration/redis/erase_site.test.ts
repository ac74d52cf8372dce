import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSiteKeyEraser } from '#infra/redis/indexes/erase_site.ts';
import { useRedis } from '#test/harness/redis.ts';

const redis = useRedis();

test('keys of a site go, and those of others stay, also of one whose id holds it', async () => {
  const site = randomUUID();
  const keysOf = (id: string): string[] => [
    ...[`i:{${id}}:p:p_1`, `i:{${id}}:n:email`, `engage:{${id}}:p_1`],
    ...[`refusals.{${id}}.counts`, `tag.{${id}}.pages`],
  ];
  const others = [...keysOf(`${site}-2`), ...keysOf(`a-${site}`), `q:{${site}}:2026-10`];
  for (const key of [...keysOf(site), ...others]) await redis().set(key, '1');
  const erase = createSiteKeyEraser(redis());
  expect([await erase(site), await erase(site)]).toEqual([keysOf(site).length, 0]);
  expect(await redis().exists(...others)).toBe(others.length);
});
