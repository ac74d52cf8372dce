// Set up before every test file: what fast-check draws is the same in each run, and another under TEST_SEED. What it says of a
// failure names the seed.
import fc from 'fast-check';

const SEED = 20_261;
const seed = Number(process.env['TEST_SEED'] ?? SEED);
if (!Number.isSafeInteger(seed)) throw new Error('TEST_SEED is no whole number');
fc.configureGlobal({ seed });
