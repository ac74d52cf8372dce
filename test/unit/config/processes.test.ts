import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';
import { controlConfig, HELD_ROLES } from '#infra/config/control_config.ts';
import { edgeConfig } from '#infra/config/edge_config.ts';
import { ConfigError, type Environment } from '#infra/config/environment.ts';
import { partsConfig, provisionConfig, quotaConfig, replayConfig } from '#infra/config/service_config.ts';
import { dedupConfig, deliveryConfig, identityConfig, warehouseConfig } from '#infra/config/stage_config.ts';
import { rotateIdentitySecret } from '#infra/secrets/seal.ts';
import { ROLES } from '#pipelines/settings/access.ts';
import { idleNotes, readStartConfig, startCounts } from '#services/local/start/config.ts';
import { childEnvironment } from '#test/harness/environment.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const PARTS = {
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:8081/apis/ccompat/v7',
  REDIS_URL: 'redis://127.0.0.1:6379',
  CLICKHOUSE_URL: 'http://svc:hidden@127.0.0.1:8123/svc',
  KAFKA_BROKERS: 'a:9092,[::1]:9093',
};
const WHOLE = { ...PARTS, IDENTITY_SECRET: KEY, SECRETS_KEYS: `k:${KEY}`, DELIVERY_DESTINATION: 'meta' };
const control = (env: Environment) => controlConfig(env, ['meta', 'ga4']);
const delivery = (env: Environment) => deliveryConfig(env, ['meta', 'ga4']);

function faultsOf(read: (env: Environment) => unknown, env: Environment): readonly string[] {
  try {
    read(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

const READERS = {
  edge: edgeConfig,
  control,
  dedup: dedupConfig,
  identity: identityConfig,
  warehouse: warehouseConfig,
  delivery,
  quota: quotaConfig,
  replay: replayConfig,
  provisioning: provisionConfig,
};

/** Who has no password of a part has nothing to lose of it. */
const WITHOUT: Record<keyof typeof READERS, readonly string[]> = {
  edge: ['CLICKHOUSE_URL'],
  control: [],
  dedup: ['CLICKHOUSE_URL'],
  identity: ['CLICKHOUSE_URL'],
  quota: ['CLICKHOUSE_URL'],
  warehouse: ['REDIS_URL'],
  delivery: ['REDIS_URL', 'CLICKHOUSE_URL'],
  replay: ['REDIS_URL'],
  provisioning: ['REDIS_URL'],
};

describe.each(Object.entries(READERS))('the configuration of %s', (name, read) => {
  it('takes an environment that has what is required', () => {
    expect(faultsOf(read, WHOLE)).toEqual([]);
  });

  it('wants the parts that it uses and no other, and says of each that it is not set', () => {
    const named = faultsOf(read, {}).map((fault) => fault.split(' ')[0] ?? '');
    const without = WITHOUT[name as keyof typeof READERS];
    expect(Object.keys(PARTS).filter((part) => !named.includes(part))).toEqual(without);
  });
});

test('the edge says all its faults at once, and no value', () => {
  const env = {
    ...WHOLE,
    KAFKA_SESSION_TIMEOUT_MS: '1',
    EDGE_PORT: 'x',
    IDENTITY_SECRET: 'c2hvcnQ=',
    REDIS_URL: 'svc:hidden@127.0.0.1',
    RATE_LIMIT_IP_EXEMPT: '127.0.0.0/8,10.0.0.0/33',
    LOG_LEVEL: 'loud',
  };
  const faults = faultsOf(edgeConfig, env);
  expect([...faults].sort()).toEqual([
    'EDGE_PORT must be a whole number from 0 to 65535',
    'IDENTITY_SECRET must be base64 of 32 bytes or more',
    'KAFKA_SESSION_TIMEOUT_MS must be a whole number from 6000 to 300000',
    'LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent',
    'RATE_LIMIT_IP_EXEMPT must be IP addresses and CIDR ranges, separated by commas',
    'REDIS_URL must be a redis://, rediss:// or redis+sentinel:// URL',
  ]);
});

test('the warehouse says all its faults at once', () => {
  const env = { ...WHOLE, KAFKA_BROKERS: ',', DEDUP_WINDOW_HOURS: '71', PERSON_MERGE_HOUR: '24', FAILPOINT: 'x' };
  expect([...faultsOf(warehouseConfig, env)].sort()).toEqual([
    'DEDUP_WINDOW_HOURS must be a whole number from 72 to 216',
    'FAILPOINT must be NAME, NAME:n or NAME:n:stall, with a name of infra/failpoint.ts',
    'KAFKA_BROKERS must be host:port, several separated by commas',
    'PERSON_MERGE_HOUR must be a whole number from 0 to 23',
  ]);
});

test.for([
  ['KAFKA_BROKERS', 'a'],
  ['KAFKA_BROKERS', 'a:0'],
  ['KAFKA_BROKERS', 'a:9092,b:65536'],
  ['REDIS_URL', 'http://a'],
  ['KAFKA_SASL_MECHANISM', 'gssapi'],
] as const)('%s=%s is refused', ([name, value]) => {
  expect(faultsOf(quotaConfig, { ...WHOLE, [name]: value })).toEqual([expect.stringContaining(`${name} must be`)]);
});

test('the identity key is opened by the secret of its rotation alone, and without one the secret is the key', () => {
  const secret = Buffer.from(KEY, 'base64');
  const rotated = rotateIdentitySecret({ secret, key: null }, randomBytes);
  const again =
    rotated && rotateIdentitySecret({ ...rotated, secret: Buffer.from(rotated.secret, 'base64') }, randomBytes);
  const keyOf = (IDENTITY_SECRET = '', IDENTITY_KEY = '') =>
    edgeConfig({ ...WHOLE, IDENTITY_SECRET, IDENTITY_KEY }).identitySecret.toString('base64');
  expect(keyOf(KEY)).toBe(KEY);
  expect([keyOf(rotated?.secret, rotated?.key), keyOf(again?.secret, again?.key)]).toEqual([KEY, KEY]);
  expect(new Set([KEY, rotated?.secret, again?.secret]).size).toBe(3);
  for (const [IDENTITY_SECRET, IDENTITY_KEY] of [
    [KEY, rotated?.key],
    [rotated?.secret, again?.key],
    [again?.secret, rotated?.key],
    [rotated?.secret, 'x'],
  ]) {
    expect(faultsOf(edgeConfig, { ...WHOLE, IDENTITY_SECRET, IDENTITY_KEY })).toEqual([
      'IDENTITY_KEY does not open with IDENTITY_SECRET: both must be of one rotation',
    ]);
  }
});

test('secrets there were before are refused where one is too short, without repeating them', () => {
  expect(faultsOf(control, { ...WHOLE, IDENTITY_FORMER_SECRETS: `${KEY},${KEY}` })).toEqual([]);
  expect(faultsOf(control, { ...WHOLE, IDENTITY_FORMER_SECRETS: `${KEY},c2hvcnQ=` })).toEqual([
    'IDENTITY_FORMER_SECRETS must be base64 of 32 bytes or more each, separated by commas',
  ]);
});

test.for(['', 'k', `k:${KEY},k:${KEY}`, 'k:c2hvcnQ='])('SECRETS_KEYS=%s is refused', (value) => {
  expect(faultsOf(control, { ...WHOLE, SECRETS_KEYS: value })).toEqual([expect.stringMatching(/^SECRETS_KEYS /)]);
});

test('SQL of analysts is not taken on a cluster', () => {
  const sql = { CONTROL_SQL_URL: 'http://sql_asker:hidden@127.0.0.1:8123/sql_views' };
  expect(faultsOf(control, { ...WHOLE, ...sql })).toEqual([]);
  expect(faultsOf(control, { ...WHOLE, CLICKHOUSE_CLUSTER: 'main' })).toEqual([]);
  expect(faultsOf(control, { ...WHOLE, ...sql, CLICKHOUSE_CLUSTER: 'main' })).toEqual([
    expect.stringMatching(/^CONTROL_SQL_URL must not be set where CLICKHOUSE_CLUSTER is/),
  ]);
});

const ACME = { id: 'acme', label: 'Acme', issuer: 'https://id.example/acme', client_id: 'a', client_secret: 'b' };

test.for<[what: string, providers: unknown, isTaken: boolean]>([
  ['one', [ACME], true],
  ['one of this machine', [{ ...ACME, issuer: 'http://127.0.0.1:9000' }], true],
  ['none', [], true],
  ['one over plain HTTP', [{ ...ACME, issuer: 'http://id.example' }], false],
  ['one with a query', [{ ...ACME, issuer: 'https://id.example/?a=b' }], false],
  ['one without a secret', [{ ...ACME, client_secret: '' }], false],
  ['one that says no time', [{ ...ACME, auth_time_optional: true }], true],
  ['one that says maybe whether it says a time', [{ ...ACME, auth_time_optional: 'maybe' }], false],
  ['one with a field more', [{ ...ACME, scope: 'email' }], false],
  ['two of one id', [ACME, ACME], false],
  ['no list', ACME, false],
])('providers of OpenID Connect: %s', ([, providers, isTaken]) => {
  const env = { ...WHOLE, CONTROL_OIDC_PROVIDERS: JSON.stringify(providers) };
  expect(faultsOf(control, env)).toEqual(
    isTaken ? [] : [expect.stringMatching(/^CONTROL_OIDC_PROVIDERS must be a JSON array/)],
  );
});

test('providers that are no JSON are refused without repeating them', () => {
  const faults = faultsOf(control, { ...WHOLE, CONTROL_OIDC_PROVIDERS: 'hidden' });
  expect(faults).toEqual([expect.not.stringContaining('hidden')]);
});

test('users of analysts are not made on a cluster', () => {
  const analysts = { CONTROL_ANALYSTS_URL: 'http://svc_analysts:hidden@127.0.0.1:8123/svc' };
  expect(faultsOf(control, { ...WHOLE, ...analysts })).toEqual([]);
  expect(faultsOf(control, { ...WHOLE, ...analysts, CLICKHOUSE_CLUSTER: 'main' })).toEqual([
    expect.stringMatching(/^CONTROL_ANALYSTS_URL must not be set where CLICKHOUSE_CLUSTER is/),
  ]);
});

test('control sends test events where delivery sends events, and shows where the edge is', () => {
  const env = { ...WHOLE, DELIVERY_META_BASE_URL: 'http://meta', CONTROL_EDGE_URL: 'https://edge.example' };
  expect(control(env)).toMatchObject({
    deliveryBaseUrls: { meta: 'http://meta', ga4: null },
    edgeUrl: 'https://edge.example',
  });
  expect(control(WHOLE).edgeUrl).toBeNull();
  expect(faultsOf(control, { ...WHOLE, DELIVERY_GA4_BASE_URL: 'x', CONTROL_EDGE_URL: 'http://edge.example' })).toEqual([
    'CONTROL_EDGE_URL must be an https URL without a path, or an http one of this machine',
    'DELIVERY_GA4_BASE_URL must be an http or https URL',
  ]);
});

describe('SASL', () => {
  it('is off where no mechanism is set', () => {
    expect(partsConfig({ ...PARTS, KAFKA_SASL_USERNAME: 'me' }).kafka.sasl).toBeNull();
  });

  it('is a mechanism with a name and a password', () => {
    const env = {
      ...PARTS,
      KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
      KAFKA_SASL_USERNAME: 'me',
      KAFKA_SASL_PASSWORD: 'mine',
    };
    expect(partsConfig(env).kafka.sasl).toEqual({ mechanism: 'scram-sha-512', username: 'me', password: 'mine' });
  });

  it('wants both, and says so beside the other faults', () => {
    expect(faultsOf(partsConfig, { ...PARTS, KAFKA_SASL_MECHANISM: 'plain', KAFKA_TLS: 'x' })).toEqual([
      'KAFKA_TLS must be true or false',
      'KAFKA_SASL_USERNAME is not set: it must be, as KAFKA_SASL_MECHANISM is set',
      'KAFKA_SASL_PASSWORD is not set: it must be, as KAFKA_SASL_MECHANISM is set',
    ]);
  });
});

describe('a delivery process', () => {
  it('reads the address of its own destination only', () => {
    const env = { ...WHOLE, DELIVERY_META_BASE_URL: 'http://meta', DELIVERY_GA4_BASE_URL: 'x' };
    expect(delivery(env)).toMatchObject({ destination: 'meta', baseUrl: 'http://meta' });
    expect(delivery({ ...WHOLE, DELIVERY_META_BASE_URL: '' }).baseUrl).toBeNull();
  });

  it('serves a destination there is', () => {
    expect(faultsOf(delivery, { ...WHOLE, DELIVERY_DESTINATION: 'mta' })).toEqual([
      'DELIVERY_DESTINATION must be meta or ga4',
    ]);
  });
});

describe('npm start', () => {
  it('needs nothing', () => {
    expect(faultsOf(readStartConfig, {})).toEqual([]);
  });

  it('says the faults of everything it would start', () => {
    const env = {
      EDGE_PORT: 'x',
      WAREHOUSE_BLOCK_ROWS: '0',
      DELIVERY_DESTINATIONS: 'mta',
      DELIVERY_META_BASE_URL: 'x',
    };
    expect([...faultsOf(readStartConfig, env)].sort()).toEqual([
      'DELIVERY_DESTINATIONS must be names of destinations, separated by commas',
      'DELIVERY_META_BASE_URL must be an http or https URL',
      'EDGE_PORT must be a whole number from 0 to 65535',
      'WAREHOUSE_BLOCK_ROWS must be a whole number from 1 to 1000000',
    ]);
  });
});

describe('the words of npm start', () => {
  it('say how many of each there are, one where nothing is said', () => {
    const counts = startCounts(['--brokers', '3', '--edges', '2', '--deliveries=4']);
    expect(counts.brokers).toBe(3);
    expect(['edge', 'dedup', 'delivery', 'control'].map(counts.of)).toEqual([2, 1, 4, 1]);
    expect(startCounts([]).brokers).toBeUndefined();
    expect([startCounts([]), startCounts(['--parts'])].map(({ partsAlone }) => partsAlone)).toEqual([false, true]);
  });

  it('are refused with all that is wrong of them', () => {
    expect(faultsOf(() => startCounts(['--brokers', '2', '--dedup', '0']), {})).toEqual([
      '--brokers must be 1 or 3',
      '--dedup must be a whole number from 1 to 16',
    ]);
    expect(faultsOf(() => startCounts(['--dedups', '2']), {})).toEqual([
      expect.stringContaining('npm start takes no words but --brokers N, --edges N,'),
    ]);
  });

  it('say of processes for which there is no work', () => {
    const counts = startCounts(['--dedup', '3', '--identity', '2', '--quota', '5']);
    const notes = (eventPartitions: number, partitionGroupSize: number) =>
      idleNotes(counts, { ...partsConfig(PARTS).kafka, eventPartitions, partitionGroupSize }).map(
        (note) => note.split(':')[0],
      );
    expect(notes(4, 2)).toEqual(['of 3 dedup processes 1 will stand idle', 'of 5 quota processes 1 will stand idle']);
    expect(notes(12, 4)).toEqual([]);
  });
});

test.for(['edge', 'provision', 'local/start'])('%s ends with exit code 1 and says every fault', (name) => {
  const main = fileURLToPath(new URL(`../../../services/${name}/main.ts`, import.meta.url));
  const env = childEnvironment({ LOG_LEVEL: 'loud', KAFKA_SESSION_TIMEOUT_MS: '1', REDIS_ULR: 'redis://:hidden@a' });
  const { status, stdout, stderr } = spawnSync(process.execPath, [main], { env, encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toContain('config_invalid: ');
  expect(stderr).toContain('\n  LOG_LEVEL must be ');
  expect(stderr).toContain('\n  KAFKA_SESSION_TIMEOUT_MS must be a whole number from 6000 to 300000\n');
  expect(stderr).toContain('\nwarning: nothing reads REDIS_ULR: did you mean REDIS_URL?\n');
  expect(stderr).not.toContain('hidden');
});

test('roles that take a second factor are those that there are', () => {
  expect(HELD_ROLES).toEqual(ROLES);
  expect(control({ ...WHOLE, CONTROL_REQUIRE_SECOND_FACTOR: 'owner, admin' })).toMatchObject({
    secondFactorRoles: ['owner', 'admin'],
  });
  expect(faultsOf(control, { ...WHOLE, CONTROL_REQUIRE_SECOND_FACTOR: 'owner,boss' })).toHaveLength(1);
});
