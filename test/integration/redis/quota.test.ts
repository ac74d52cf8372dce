import { createAdmissionStore, quotaKey } from '#infra/redis/quota/admission.ts';
import { createQuotaStore } from '#infra/redis/quota/quota.ts';
import { quotaStoreSuite } from '#test/contract/quota/suite.ts';
import { onCluster, useRedis } from '#test/harness/redis.ts';

const redis = useRedis();

const UNLIMITED = { windowMs: 1_000, perIp: 0, perKey: 0 };

quotaStoreSuite(
  'usage in Redis',
  () => createQuotaStore(redis()),
  () => ({
    async reserve(accountId, month, lease, events) {
      const store = createAdmissionStore(redis(), {
        limits: UNLIMITED,
        cluster: onCluster(),
        checkpointsWanted: 0,
        deadlineMs: 1_000,
      });
      const request = {
        address: null,
        key: null,
        keyLimit: null,
        requests: 1,
        accountId,
        month,
        monthLimit: 1_000_000,
        wanted: events,
        lease,
      };
      await store.admit(request);
    },
    async counted(accountId, month) {
      const [used, held] = await redis().hmget(quotaKey(accountId, month), 'used', 'held');
      return { used: Number(used ?? 0), held: Number(held ?? 0) };
    },
    async lose() {
      await redis().flushdb();
    },
  }),
);
