import { availableParallelism } from 'node:os';
import type { TestProjectInlineConfiguration } from 'vitest/config';

/** Integration tests that look into the one service that the end-to-end tests share. */
const WITH_THE_SERVICE = [
  'test/integration/redis/key_use.test.ts',
  'test/integration/redis/sessions.test.ts',
  'test/integration/control/service.test.ts',
  'test/integration/control/sign_in.test.ts',
  'test/integration/kafka/aborted_records.test.ts',
];

/** End-to-end tests that start services of their own, which mostly wait: they run beside the integration tests. */
const WITH_OWN_SERVICES = ['test/e2e/operate/external_parts.test.ts', 'test/e2e/operate/lifecycle.test.ts'];

/** For tests that bring up parts or processes, and take them down. */
const WITH_PARTS = { testTimeout: 60_000, hookTimeout: 120_000 };
/** The first hook of a browser test may have to fetch the browser. */
const WITH_A_BROWSER = { testTimeout: 60_000, hookTimeout: 480_000 };
const ONE_BY_ONE = { fileParallelism: false, maxWorkers: 1 };

/** Unit tests that watch a module, or change the environment, which other files have too where they share a process. */
const WITH_OWN_PROCESS = ['test/unit/intake/phone_reads.test.ts', 'test/unit/harness/scratch.test.ts'];

const UNIT = {
  name: 'unit',
  include: ['test/unit/**/*.test.ts', 'test/contract/**/*.test.ts'],
  exclude: WITH_OWN_PROCESS,
  // Loading the same modules for each file takes nearly half of the time.
  isolate: false,
  testTimeout: 20_000,
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 0 },
};

const UNIT_ISOLATED = {
  name: 'unit-isolated',
  include: WITH_OWN_PROCESS,
  testTimeout: 20_000,
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 0 },
};

const INTEGRATION = {
  name: 'integration',
  include: ['test/integration/**/*.test.ts', ...WITH_OWN_SERVICES],
  exclude: WITH_THE_SERVICE,
  ...WITH_PARTS,
  // Each file brings its own parts up, and mostly waits for them: two files at once leave half of two cores idle.
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 1 },
};

/** Tests in a browser that measure what the tag costs a page, how long it waits or how quick the dashboard is: nothing else runs beside them. */
const TIMED_IN_A_BROWSER = [
  'test/browser/tag/page_cost.test.ts',
  'test/browser/tag/delivery.test.ts',
  'test/browser/dashboard/speed.test.ts',
];

/** Tests in a browser that need no more than pages and a stand-in for the edge. */
const BROWSER = {
  name: 'browser',
  include: ['test/browser/**/*.test.ts'],
  exclude: ['test/browser/service/**', ...TIMED_IN_A_BROWSER],
  ...WITH_A_BROWSER,
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 2 },
};

/** Tests that share one service, over HTTP. */
const SERVICE = {
  name: 'service',
  include: [...WITH_THE_SERVICE, 'test/e2e/**/*.test.ts'],
  exclude: WITH_OWN_SERVICES,
  globalSetup: ['test/harness/global_setup.ts'],
  ...WITH_PARTS,
  ...ONE_BY_ONE,
  sequence: { groupOrder: 3 },
};

const BROWSER_TIMED = {
  name: 'browser-timed',
  include: TIMED_IN_A_BROWSER,
  ...WITH_A_BROWSER,
  ...ONE_BY_ONE,
  sequence: { groupOrder: 4 },
};

/** Tests in a browser that sends to a service which they share, with what arrived looked for in ClickHouse. */
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
 * The projects by the runs that `npm test` makes, one after the other, and of these those that are made at the same time. A run
 * starts the global setups of all its projects at its beginning, and a shared service would take its share of the machine
 * beside the tests without it. The tests with a service and those of faults wait for half of their time, and each have parts of
 * their own: they are made beside others.
 */
export const RUNS = [
  [[UNIT, UNIT_ISOLATED, INTEGRATION]],
  [[BROWSER], [SERVICE]],
  [[BROWSER_TIMED]],
  [[BROWSER_SERVICE], [FAULT]],
] as const;

/** The same for vitest by itself, which makes one run of all. */
export const PROJECTS: TestProjectInlineConfiguration[] = RUNS.flat(2).map((test) => ({ extends: true, test }));
