import { createMemoryClaims } from './memory_claims.ts';
import { claimStoreSuite, timedClaims, WINDOW_MS } from './suite.ts';

claimStoreSuite('claims in memory', () => timedClaims((nowMs) => createMemoryClaims(WINDOW_MS, nowMs)));
