import { createQuotaStore, quotaKey } from '#infra/redis/quota.ts';
import { quotaStoreSuite } from '#test/contract/quota/suite.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

quotaStoreSuite(
  'usage in Redis',
  () => createQuotaStore(redis()),
  async (accountId, month) => Number(await redis().hget(quotaKey(accountId, month), 'used')),
);
