import { randomInt } from 'node:crypto';
import type { TestProject } from 'vitest/node';

const SEED_MAX = 2 ** 31;

/**
 * What the fuzz suite tries where the environment does not say otherwise. TEST_TIMES multiplies what `cases` counts; worlds and
 * questions take longer each.
 */
const MORE: Readonly<Record<string, string>> = {
  TEST_TIMES: '10',
  WORLD_EVENTS: '10000',
  WORLD_QUESTIONS: '8',
};

/** Draws the seed of the run unless one is given, prints it, and has the tests try more. */
export function setup(project: TestProject): () => void {
  const before = { ...process.env };
  const seed = process.env['TEST_SEED'] ?? String(randomInt(SEED_MAX));
  Object.assign(process.env, { ...MORE, ...before, TEST_SEED: seed });
  project.vitest.logger.log(`  seed ${seed}: TEST_SEED=${seed} npm run test:fuzz [PATH]`);
  return () => {
    for (const name of [...Object.keys(MORE), 'TEST_SEED']) {
      if (before[name] === undefined) delete process.env[name];
    }
  };
}
