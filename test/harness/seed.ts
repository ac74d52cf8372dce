// Set up before every test file: what fast-check draws is the same in each run, and another under TEST_SEED. What it says of a
// failure names the seed.
import fc from 'fast-check';
import { cases, testSeed } from './environment.ts';

const NUM_RUNS = 100;
fc.configureGlobal({ seed: testSeed(), numRuns: cases(NUM_RUNS) });
