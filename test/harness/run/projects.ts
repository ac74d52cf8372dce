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

/**
 * Tests that take long, of what shorter tests look at too: each kills, starves or starts whole processes again and again, or fills a
 * store. `npm run test:long` has them, and not every run.
 */
const TAKING_LONG = [
  'test/e2e/operate/external_parts.test.ts',
  'test/e2e/operate/lifecycle.test.ts',
  'test/integration/edge/backpressure.test.ts',
  'test/integration/kafka/commit_broker_killed.test.ts',
  'test/integration/kafka/prepared_commits.test.ts',
  'test/integration/kafka/sink_killer.test.ts',
  'test/integration/kafka/stage_broker_killed.test.ts',
  'test/integration/kafka/stage_killer.test.ts',
  'test/integration/kafka/stage_storm.test.ts',
  'test/integration/kafka/stage_zombie.test.ts',
  'test/integration/local/sudden_death.test.ts',
  'test/integration/redis/claims_memory.test.ts',
  'test/integration/stages/dedup_redis_lost.test.ts',
];

/** For tests that bring up parts or processes, and take them down. */
const WITH_PARTS = { testTimeout: 60_000, hookTimeout: 120_000 };
/** The first hook of a browser test may have to fetch the browser. */
const WITH_A_BROWSER = {
  testTimeout: 60_000,
  hookTimeout: 480_000,
  // A page that loads and asks takes longer than the second that is the default, where the machine is slow.
  expect: { poll: { timeout: 20_000, interval: 50 } },
};
const ONE_BY_ONE = { fileParallelism: false, maxWorkers: 1 };

/** Unit tests that watch a module which other files have too where they share a process. */
const WITH_OWN_PROCESS = ['test/unit/intake/phone_reads.test.ts'];

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
  include: ['test/integration/**/*.test.ts'],
  exclude: [...WITH_THE_SERVICE, ...TAKING_LONG],
  ...WITH_PARTS,
  // Each file brings its own parts up, and mostly waits for them: two files at once leave half of two cores idle.
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 1 },
};

const LONG = {
  name: 'long',
  include: TAKING_LONG,
  ...WITH_PARTS,
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 7 },
};

/** Tests in a browser that measure what the tag costs a page or how quick the dashboard is: nothing else runs beside them. */
const TIMED_IN_A_BROWSER = ['test/browser/tag/page_cost.test.ts', 'test/browser/dashboard/speed.test.ts'];

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
  exclude: TAKING_LONG,
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

/** The run of what takes long. */
export const LONG_RUNS = [[[LONG]]] as const;

/** The same for vitest by itself, which makes one run of all. */
export const PROJECTS: TestProjectInlineConfiguration[] = [...RUNS, ...LONG_RUNS].flat(2).map((test) => ({
  extends: true,
  test,
}));
