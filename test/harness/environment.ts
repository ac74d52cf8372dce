/** What would lead a process of a test to somebody's own service, or change how it runs. */
const REMOVED =
  /^(KAFKA_|SCHEMA_REGISTRY_URL$|REDIS_|CLICKHOUSE_|EDGE_|EVENT_PARTITIONS|TRANSACTION_PARTITION_|PERSON_MERGE_|DELIVERY_|METRICS_|SECRETS_|IDENTITY_|LOCAL_DIR$|LOG_LEVEL$|EGRESS_|TRUSTED_PROXIES$|WAREHOUSE_|DEDUP_|CONTROL_|RATE_LIMIT_|NODE_ENV$|VITEST)/;

/** The environment for a process under test: this one's without any setting of the service, then what the test sets. */
export function childEnvironment(settings: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || REMOVED.test(name) ? [] : [[name, value] as const],
  );
  return { ...Object.fromEntries(kept), ...settings };
}

/** The variable that names the folder for temporary files: every process started from here on inherits it. */
export const TEMPORARY_FOLDER = 'TMPDIR';

/** Makes all temporary files of this process and of what it starts go into one folder. */
export function useTemporaryFolder(path: string): void {
  process.env[TEMPORARY_FOLDER] = path;
}

/** The seed that TEST_SEED says, in place of those that every run has. */
export function drawnSeed(): number | undefined {
  const said = process.env['TEST_SEED'];
  if (said === undefined) return undefined;
  const seed = Number(said);
  if (!Number.isSafeInteger(seed)) throw new Error('TEST_SEED is no whole number');
  return seed;
}

const SEED = 20_261;

/** The one seed of all cases that are drawn. */
export function testSeed(): number {
  return drawnSeed() ?? SEED;
}

/** How many cases to try of what is drawn, where every run tries `count`: TEST_TIMES as many, which `npm run test:fuzz` sets. */
export function cases(count: number): number {
  return count * Number(process.env['TEST_TIMES'] ?? 1);
}

/** Which of the runner's workers this process is, counted from 1: the next file in its place has the same. */
export function workerNumber(): number {
  return Number(process.env['VITEST_POOL_ID']);
}
