import { availableParallelism } from 'node:os';
import type { TestProjectInlineConfiguration } from 'vitest/config';

/**
 * Tests of the service as a whole that are in every run: the contract of the public routes, who may do what, and that an event is
 * everywhere once. The other files of `test/e2e` are in `npm run test:e2e`.
 */
const SERVICE_IN_EVERY_RUN = [
  'test/e2e/2_1_event.test.ts',
  'test/e2e/2_2_properties.test.ts',
  'test/e2e/2_3_action_source.test.ts',
  'test/e2e/2_4_offline_mode.test.ts',
  'test/e2e/4_1_accepted_event.test.ts',
  'test/e2e/4_1_body.test.ts',
  'test/e2e/4_1_filters.test.ts',
  'test/e2e/4_1_quota.test.ts',
  'test/e2e/4_2_config.test.ts',
  'test/e2e/4_3_inventory.test.ts',
  'test/e2e/4_4_health.test.ts',
  'test/e2e/4_5_other_routes.test.ts',
  'test/e2e/4_6_import.test.ts',
  'test/e2e/4_6_client_library.test.ts',
  'test/e2e/4_6_one_person.test.ts',
  'test/e2e/5_authentication.test.ts',
  'test/e2e/6_fan_out_once.test.ts',
  'test/e2e/8_limits.test.ts',
  'test/e2e/9_versioning.test.ts',
  'test/e2e/operate/person_erase.test.ts',
  'test/e2e/operate/process_rights.test.ts',
  // Of the parts, but beside the one service that uses them.
  'test/integration/control/service.test.ts',
  'test/integration/control/sign_in.test.ts',
];

/** Integration tests that have the names of the one installation on the shared parts, one after the other (`useInstallation`). */
const WITH_INSTALLATION = [
  'test/integration/control/{journal,oidc}.test.ts',
  'test/integration/query/{analyst,sql}.test.ts',
];

const PARTS = 'test/harness/shared_parts.ts';
const SERVICE = 'test/harness/global_setup.ts';

/** The first hook may have to fetch the parts. A deadline ends what hangs; nothing that works comes near it. */
const WITH_PARTS = { testTimeout: 180_000, hookTimeout: 300_000 };
const WITH_A_BROWSER = {
  testTimeout: 60_000,
  hookTimeout: 480_000,
  // A page that loads and asks takes longer than the second that is the default, where the machine is slow.
  expect: { poll: { timeout: 20_000, interval: 50 } },
};
const ONE_BY_ONE = { fileParallelism: false, maxWorkers: 1 };

/** Unit tests that watch what a module keeps in memory, which other files fill too where they share a process. */
const WITH_OWN_PROCESS = [
  'test/unit/intake/phone_reads.test.ts',
  'test/unit/intake/fast_path/{body_scanner,differential,hostile_names}.test.ts',
];

/** Of `test/kill`, what kills processes of the one service, or those that send to it. */
const KILLING_THE_SERVICE = [
  'test/kill/operate/{alerts,erased_persons,erased_site,killed_import,killed_process}.test.ts',
];

/** What draws its cases by a seed: a few in the runs that have these files, and many others in `npm run test:fuzz`. */
const DRAWING = [
  'test/contract/{claims,identity}/memory.test.ts',
  'test/unit/simulation/*.test.ts',
  'test/unit/{identity,limits}/*.test.ts',
  'test/unit/schemas/{event_batch,event_encoder,varint,walk}.test.ts',
  'test/unit/intake/{event_id,outline,personal_data,properties_text,timestamp}.test.ts',
  'test/unit/intake/fast_path/differential.test.ts',
  'test/unit/intake/ga4/fuzz.test.ts',
  'test/unit/privacy/{keyed_hash,redact_text}.test.ts',
  'test/unit/openapi/public.test.ts',
  'test/unit/settings/{event_definitions,key_format}.test.ts',
  'test/unit/secrets/seal.test.ts',
  'test/unit/client_node/{client,journal,queue}.test.ts',
  'test/unit/delivery/retry_topics.test.ts',
  'test/unit/kafka/partition_group.test.ts',
  'test/unit/engage/{css_selector,engage_definition}.test.ts',
  'test/unit/isolate/isolate.test.ts',
  'test/unit/edge/{hostile,broken_connections}.test.ts',
  'test/unit/control/broken_connections.test.ts',
  'test/integration/redis/{claims,identity,quota}.test.ts',
  'test/integration/query/{worlds,actors,paths}*.test.ts',
  'test/e2e/hostile.test.ts',
];

/** What asks tables, and gets the same of two shards as of one server. */
const ON_SHARDS = [
  'test/integration/clickhouse/{erase_persons,erase_site,backup}.test.ts',
  'test/integration/query/{worlds,actors,paths}*.test.ts',
];

/** What ends in tables or is answered from them, by the service whole. */
const SERVICE_ON_SHARDS = [
  'test/e2e/{4_1_accepted_event,4_1_quota,4_6_one_person,6_fan_out_once}.test.ts',
  'test/e2e/operate/{event_trace,export,person_erase}.test.ts',
];

const ALONE = { sequence: { groupOrder: 0 } };

const UNIT = {
  name: 'unit',
  include: ['test/unit/**/*.test.ts', 'test/contract/**/*.test.ts'],
  exclude: WITH_OWN_PROCESS,
  // Loading the same modules for each file takes nearly half of the time.
  isolate: false,
  testTimeout: 60_000,
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 0 },
};

const UNIT_ISOLATED = {
  name: 'unit-isolated',
  include: WITH_OWN_PROCESS,
  testTimeout: 60_000,
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 0 },
};

const INTEGRATION = {
  name: 'integration',
  include: ['test/integration/**/*.test.ts'],
  exclude: [...SERVICE_IN_EVERY_RUN, ...WITH_INSTALLATION],
  globalSetup: [PARTS],
  ...WITH_PARTS,
  // Two files at once leave half of two cores idle: they mostly wait for the parts.
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 1 },
};

const INSTALLATION = {
  name: 'installation',
  include: WITH_INSTALLATION,
  globalSetup: [PARTS],
  ...WITH_PARTS,
  ...ONE_BY_ONE,
  sequence: { groupOrder: 2 },
};

/** The projects by the suites that `test/run.ts` has, in the order in which `npm run test:all` runs them. */
export const SUITES = {
  default: [
    [UNIT, UNIT_ISOLATED, INTEGRATION, INSTALLATION],
    [
      {
        name: 'service',
        include: SERVICE_IN_EVERY_RUN,
        globalSetup: [PARTS, SERVICE],
        ...WITH_PARTS,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
  ],
  e2e: [
    [
      {
        name: 'e2e',
        include: ['test/e2e/**/*.test.ts'],
        exclude: SERVICE_IN_EVERY_RUN,
        globalSetup: [PARTS, SERVICE],
        ...WITH_PARTS,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
  ],
  clients: [
    [
      {
        name: 'clients',
        include: ['test/clients/**/*.test.ts'],
        globalSetup: [PARTS, SERVICE],
        ...WITH_PARTS,
        // A hundred thousand events on a bad line, and processes that are killed again and again.
        testTimeout: 900_000,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
  ],
  browser: [
    [
      {
        name: 'browser',
        include: ['test/browser/**/*.test.ts'],
        exclude: ['test/browser/service/**'],
        ...WITH_A_BROWSER,
        maxWorkers: availableParallelism(),
        ...ALONE,
      },
    ],
    [
      {
        name: 'browser-service',
        include: ['test/browser/service/**/*.test.ts'],
        globalSetup: [PARTS, SERVICE],
        ...WITH_A_BROWSER,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
  ],
  kill: [
    [
      {
        name: 'kill',
        include: ['test/kill/**/*.test.ts'],
        exclude: KILLING_THE_SERVICE,
        globalSetup: [PARTS],
        ...WITH_PARTS,
        // Each file brings its own parts up, and mostly waits for them.
        maxWorkers: availableParallelism() + 1,
        ...ALONE,
      },
    ],
    [
      {
        name: 'kill-service',
        include: KILLING_THE_SERVICE,
        globalSetup: [PARTS, SERVICE],
        ...WITH_PARTS,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
  ],
  cluster: [
    [
      {
        name: 'cluster-stores',
        include: ['test/integration/redis/*.test.ts'],
        globalSetup: ['test/harness/redis_cluster_setup.ts'],
        ...WITH_PARTS,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
    [
      {
        name: 'cluster-tables',
        include: ON_SHARDS,
        globalSetup: ['test/harness/clickhouse_shards_setup.ts'],
        ...WITH_PARTS,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
    [
      {
        name: 'cluster-service',
        include: SERVICE_ON_SHARDS,
        globalSetup: ['test/harness/service_on_shards.ts'],
        ...WITH_PARTS,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
    [{ name: 'cluster', include: ['test/cluster/**/*.test.ts'], ...WITH_PARTS, ...ONE_BY_ONE, ...ALONE }],
  ],
  perf: [
    [
      {
        name: 'perf',
        include: ['test/perf/**/*.test.ts'],
        globalSetup: [PARTS],
        ...WITH_A_BROWSER,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
  ],
  fuzz: [
    [
      {
        name: 'fuzz',
        include: DRAWING,
        globalSetup: ['test/fuzz/config.ts', PARTS, SERVICE],
        ...WITH_PARTS,
        ...ONE_BY_ONE,
        ...ALONE,
      },
    ],
  ],
  docs: [[{ name: 'docs', include: ['test/docs/**/*.test.ts'], ...ALONE }]],
} as const;

export type SuiteName = keyof typeof SUITES;

/** The same for the runner by itself, which makes one run of all. */
export const PROJECTS: TestProjectInlineConfiguration[] = Object.values(SUITES)
  .flat(2)
  .map((test) => ({ extends: true, test }) as TestProjectInlineConfiguration);
