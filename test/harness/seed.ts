// Set up before every test file: what fast-check draws is the same in each run, and another under TEST_SEED. What it says of a
// failure names the seed.
import fc from 'fast-check';
import { testSeed } from './environment.ts';

fc.configureGlobal({ seed: testSeed() });
