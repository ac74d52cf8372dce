import { createMemoryClaims } from './memory_claims.ts';
import { claimStoreSuite, WINDOW_MS } from './suite.ts';

claimStoreSuite('claims in memory', () => createMemoryClaims(WINDOW_MS));
