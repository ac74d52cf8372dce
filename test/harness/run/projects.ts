import { availableParallelism } from 'node:os';
import type { TestProjectInlineConfiguration } from 'vitest/config';

/** Integration tests that look into the one service that the end-to-end tests share. */
const WITH_THE_SERVICE = [
  'test/integration/redis/key_use.test.ts',
  'test/integration/control/service.test.ts',
  'test/integration/kafka/aborted_records.test.ts',
];

/** For tests that bring up parts or processes, and take them down. */
const WITH_PARTS = { testTimeout: 60_000, hookTimeout: 120_000 };
/** The first hook of a browser test may have to fetch the browser. */
const WITH_A_BROWSER = { testTimeout: 60_000, hookTimeout: 480_000 };
const ONE_BY_ONE = { fileParallelism: false, maxWorkers: 1 };

const UNIT = {
  name: 'unit',
  include: ['test/unit/**/*.test.ts', 'test/contract/**/*.test.ts'],
  testTimeout: 20_000,
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 0 },
};

const INTEGRATION = {
  name: 'integration',
  include: ['test/integration/**/*.test.ts'],
  exclude: WITH_THE_SERVICE,
  ...WITH_PARTS,
  // Each file brings its own parts up, and mostly waits for them: two files at once leave half of two cores idle.
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 1 },
};

const SERVICE = {
  name: 'service',
  include: [...WITH_THE_SERVICE, 'test/e2e/**/*.test.ts'],
  globalSetup: ['test/harness/global_setup.ts'],
  ...WITH_PARTS,
  ...ONE_BY_ONE,
  sequence: { groupOrder: 2 },
};

/** Tests in a browser that measure what the tag costs a page or how long it waits: nothing else runs beside them. */
const TIMED_IN_A_BROWSER = ['test/browser/tag/page_cost.test.ts', 'test/browser/tag/delivery.test.ts'];

/** Tests in a browser that need no more than pages and a stand-in for the edge. */
const BROWSER = {
  name: 'browser',
  include: ['test/browser/**/*.test.ts'],
  exclude: ['test/browser/service/**', ...TIMED_IN_A_BROWSER],
  ...WITH_A_BROWSER,
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 3 },
};

const BROWSER_TIMED = {
  name: 'browser-timed',
  include: TIMED_IN_A_BROWSER,
  ...WITH_A_BROWSER,
  ...ONE_BY_ONE,
  sequence: { groupOrder: 4 },
};

/** Tests in a browser that send to the whole service, and look for what they sent in ClickHouse. */
const BROWSER_SERVICE = {
  name: 'browser-service',
  include: ['test/browser/service/**/*.test.ts'],
  globalSetup: ['test/harness/global_setup.ts'],
  ...WITH_A_BROWSER,
  ...ONE_BY_ONE,
  sequence: { groupOrder: 5 },
};

const FAULT = {
  name: 'fault',
  include: ['test/fault/**/*.test.ts'],
  ...WITH_PARTS,
  ...ONE_BY_ONE,
  sequence: { groupOrder: 6 },
};

/**
 * The projects by the runs that `npm test` makes, one after the other. A run starts the global setups of all its
 * projects at its beginning, and the shared service would take its share of the machine beside the tests without it.
 */
export const RUNS = [[UNIT, INTEGRATION], [SERVICE], [BROWSER, BROWSER_TIMED], [BROWSER_SERVICE], [FAULT]] as const;

/** The same for vitest by itself, which makes one run of all. */
export const PROJECTS: TestProjectInlineConfiguration[] = RUNS.flat().map((test) => ({ extends: true, test }));
