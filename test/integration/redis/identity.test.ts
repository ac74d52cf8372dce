import { createIdentityStore } from '#infra/redis/identity.ts';
import type { IdentityStore } from '#pipelines/identity/resolve.ts';
import { identityStoreSuite } from '#test/contract/identity/suite.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

identityStoreSuite('identity in Redis', (personsMax): IdentityStore => createIdentityStore(redis(), personsMax));
