import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Integration tests that look into the one service that the end-to-end tests share. */
const WITH_THE_SERVICE = [
  'test/integration/redis/key_use.test.ts',
  'test/integration/control/service.test.ts',
  'test/integration/kafka/aborted_records.test.ts',
];

/** End-to-end tests that start a service, or its processes, of their own. */
const WITH_THEIR_OWN = ['test/e2e/operate/lifecycle.test.ts', 'test/e2e/operate/external_parts.test.ts'];

/** Files of minutes; begun last, they would leave the other worker idle. */
const LONG = [
  'test/fault/smoke.test.ts',
  'test/integration/stages/dedup_redis_lost.test.ts',
  'test/e2e/operate/lifecycle.test.ts',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((file) => moduleId.endsWith(file));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'test/contract/**/*.test.ts'],
          testTimeout: 20_000,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'test/fault/**/*.test.ts', ...WITH_THEIR_OWN],
          exclude: WITH_THE_SERVICE,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // Each file brings its own parts up, and mostly waits for them.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'service',
          include: [...WITH_THE_SERVICE, 'test/e2e/**/*.test.ts'],
          exclude: WITH_THEIR_OWN,
          globalSetup: ['test/harness/global_setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
