import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Integration tests that look into the one service that the end-to-end tests share. */
const WITH_THE_SERVICE = [
  'test/integration/redis/key_use.test.ts',
  'test/integration/control/service.test.ts',
  'test/integration/kafka/aborted_records.test.ts',
];

export default defineConfig({
  test: {
    pool: 'forks',
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
          include: ['test/integration/**/*.test.ts'],
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
          include: [...WITH_THE_SERVICE, 'test/e2e/**/*.test.ts', 'test/fault/**/*.test.ts'],
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
