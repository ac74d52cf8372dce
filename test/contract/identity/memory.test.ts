import { createMemoryIdentity } from './memory_identity.ts';
import { identityStoreSuite } from './suite.ts';

identityStoreSuite('identity in memory', createMemoryIdentity);
