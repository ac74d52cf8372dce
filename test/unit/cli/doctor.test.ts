import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import type { ClickhouseFacts, ServerFacts } from '#infra/clickhouse/inspect.ts';
import type { KafkaFacts, TopicFacts } from '#infra/kafka/inspect.ts';
import { declareTopics } from '#infra/kafka/topics.ts';
import type { RedisFacts } from '#infra/redis/inspect.ts';
import { clickhouseChecks } from '#services/cli/doctor/clickhouse_checks.ts';
import { type CheckResult, clockCheck, diskCheck, doctorReport } from '#services/cli/doctor/doctor.ts';
import { kafkaChecks, registryChecks } from '#services/cli/doctor/kafka_checks.ts';
import { doctorSections } from '#services/cli/doctor/open_doctor.ts';
import { redisChecks } from '#services/cli/doctor/redis_checks.ts';
import {
  certificateCheck,
  configurationChecks,
  type Login,
  loginChecks,
  nodeCheck,
  secretChecks,
} from '#services/cli/doctor/settings_checks.ts';
import { anchorsIn } from '#test/harness/headings.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2027, 0, 5, 12);
const seen: CheckResult[] = [];

/** What is not well, as `failure redis.role`. */
function bad(checks: readonly CheckResult[]): string[] {
  seen.push(...checks);
  return checks.flatMap(({ check, state }) => (state === 'ok' ? [] : [`${state} ${check}`]));
}

const DECLARED = declareTopics(['webhook'], { eventPartitions: 3 });
const EXPECTED = { declared: DECLARED, eventPartitions: 3, copies: 3 };

function topicsWith(change: (name: string, facts: TopicFacts) => TopicFacts | null): Map<string, TopicFacts> {
  return new Map(
    DECLARED.flatMap(({ name, partitions, config }) => {
      const settings = { ...config, 'min.insync.replicas': '2', 'unclean.leader.election.enable': 'false' };
      const facts = change(name, { partitions, copies: 3, behind: 0, leaderless: 0, settings });
      return facts === null ? [] : [[name, facts] as const];
    }),
  );
}

const BROKER = {
  'auto.create.topics.enable': 'false',
  'offsets.retention.minutes': '86400',
  'offsets.topic.replication.factor': '3',
  'replica.fetch.max.bytes': '8388608',
  'transaction.state.log.min.isr': '2',
  'transaction.state.log.replication.factor': '3',
};
const brokerSettings = (some: Record<string, string>) =>
  new Map(['1', '2', '3'].map((id) => [id, { ...BROKER, ...some }]));

const kafka = (some: Partial<KafkaFacts> = {}): KafkaFacts => ({
  brokers: ['1', '2', '3'],
  topics: topicsWith((_, facts) => facts),
  brokerSettings: brokerSettings({}),
  acls: new Map([['edge', 0]]),
  levelMax: 29,
  disks: [{ broker: '1', folder: '/data', freeBytes: 50 * 1024 ** 3, totalBytes: 100 * 1024 ** 3 }],
  ...some,
});
const only = (topic: string, change: Partial<TopicFacts>) =>
  kafka({ topics: topicsWith((name, facts) => (name === topic ? { ...facts, ...change } : facts)) });
const every = (change: Partial<TopicFacts>) => kafka({ topics: topicsWith((_, facts) => ({ ...facts, ...change })) });
const set = (topic: string, setting: string, value: string) =>
  kafka({
    topics: topicsWith((name, facts) =>
      name === topic ? { ...facts, settings: { ...facts.settings, [setting]: value } } : facts,
    ),
  });

test.each<[string, KafkaFacts, string[]]>([
  ['as it should be', kafka(), []],
  ['4.3', kafka({ levelMax: 30 }), ['warning kafka.version']],
  ['that does not say its version', kafka({ levelMax: null }), ['warning kafka.version']],
  [
    'without a topic',
    kafka({ topics: topicsWith((name, facts) => (name === 'events.raw' ? null : facts)) }),
    ['failure kafka.topics'],
  ],
  ['with other partitions', only('events.raw', { partitions: 6 }), ['failure kafka.partitions']],
  [
    'with fewer copies than wanted',
    only('events.raw', { copies: 2 }),
    ['failure kafka.replication', 'warning kafka.min_insync_replicas'],
  ],
  [
    'that acknowledges by one broker',
    set('site.config', 'min.insync.replicas', '1'),
    ['failure kafka.min_insync_replicas'],
  ],
  [
    'to which nothing can be written',
    set('site.config', 'min.insync.replicas', '4'),
    ['failure kafka.min_insync_replicas'],
  ],
  ['that stands with a broker', set('site.config', 'min.insync.replicas', '3'), ['warning kafka.min_insync_replicas']],
  ['whose copies are behind', only('events.raw', { behind: 1 }), ['warning kafka.replicas']],
  ['with a partition that nobody leads', only('events.raw', { behind: 1, leaderless: 1 }), ['failure kafka.replicas']],
  [
    'that elects unclean leaders',
    set('events.raw', 'unclean.leader.election.enable', 'true'),
    ['failure kafka.unclean_leader_election'],
  ],
  ['that compacts events', set('events.raw', 'cleanup.policy', 'compact'), ['failure kafka.cleanup_policy']],
  ['that keeps events for an hour', set('events.raw', 'retention.ms', '3600000'), ['failure kafka.retention']],
  [
    'that keeps events for longer than offsets',
    set('events.raw', 'retention.ms', String(60 * DAY_MS)),
    ['failure kafka.offsets_retention'],
  ],
  ['that keeps a dead letter for ever', set('dead.dedup', 'retention.ms', '-1'), []],
  ['that takes small records', set('events.raw', 'max.message.bytes', '1048588'), ['failure kafka.message_size']],
  [
    "that is stamped by producers' clocks",
    set('events.raw', 'message.timestamp.type', 'CreateTime'),
    ['failure kafka.timestamps'],
  ],
  [
    'that forgets offsets early',
    kafka({ brokerSettings: brokerSettings({ 'offsets.retention.minutes': '10080' }) }),
    ['failure kafka.offsets_retention'],
  ],
  [
    'with a copy of offsets',
    kafka({ brokerSettings: brokerSettings({ 'offsets.topic.replication.factor': '1' }) }),
    ['failure kafka.internal_topics'],
  ],
  [
    'with small fetches',
    kafka({ brokerSettings: brokerSettings({ 'replica.fetch.max.bytes': '1048576' }) }),
    ['warning kafka.replica_fetch'],
  ],
  [
    'that makes topics',
    kafka({ brokerSettings: brokerSettings({ 'auto.create.topics.enable': 'true' }) }),
    ['warning kafka.auto_create'],
  ],
  [
    'whose brokers may not be asked',
    kafka({ brokerSettings: null }),
    ['warning kafka.offsets_retention', 'warning kafka.brokers'],
  ],
  ['whose topics may not be asked', every({ settings: {} }), ['warning kafka.min_insync_replicas']],
  ['without rights', kafka({ acls: 'off' }), ['warning kafka.acls']],
  ['whose rights may not be asked', kafka({ acls: 'refused' }), ['warning kafka.acls']],
  ['without users', kafka({ acls: new Map() }), ['warning kafka.acls']],
  ['where a user lacks rights', kafka({ acls: new Map([['edge', 2]]) }), ['failure kafka.acls']],
  [
    'whose disk is full',
    kafka({ disks: [{ broker: '1', folder: '/data', freeBytes: 0, totalBytes: 1 }] }),
    ['failure kafka.disk'],
  ],
])('of a Kafka %s', (_, facts, said) => {
  expect(bad(kafkaChecks(facts, EXPECTED))).toEqual(said);
});

test('one broker of one machine is a warning, as it is what was asked for', () => {
  const facts = kafka({
    brokers: ['1'],
    topics: topicsWith((_, one) => ({ ...one, copies: 1, settings: { ...one.settings, 'min.insync.replicas': '1' } })),
    brokerSettings: new Map([
      ['1', { ...BROKER, 'offsets.topic.replication.factor': '1', 'transaction.state.log.replication.factor': '1' }],
    ]),
  });
  expect(bad(kafkaChecks(facts, { ...EXPECTED, copies: 1 }))).toEqual(['warning kafka.replication']);
});

const INFO = {
  ...{
    redis_version: '7.4.1',
    role: 'master',
    cluster_enabled: '0',
    maxmemory_policy: 'noeviction',
    evicted_keys: '0',
  },
  ...{
    used_memory: '100',
    maxmemory: '1000',
    total_system_memory: '2000',
    aof_enabled: '1',
    aof_last_write_status: 'ok',
  },
  ...{ rdb_last_bgsave_status: 'ok', aof_last_bgrewrite_status: 'ok', connected_slaves: '1' },
};
const redis = (some: Partial<typeof INFO> = {}, more: Partial<RedisFacts> = {}): RedisFacts => ({
  ...{ fields: new Map(Object.entries({ ...INFO, ...some })), aheadMs: 3, savePoints: '', buckets: null, ...more },
});

test.each<[string, RedisFacts, number | null, string[]]>([
  ['as it should be', redis(), 1, []],
  ['too old', redis({ redis_version: '5.0.7' }), null, ['failure redis.version']],
  ['a little old', redis({ redis_version: '6.2.14' }), null, ['warning redis.version']],
  ['whose clock is behind', redis({}, { aheadMs: 8_000 }), null, ['warning redis.clock']],
  ['that is a replica', redis({ role: 'slave' }), null, ['failure redis.role']],
  ['that is a cluster', redis({ cluster_enabled: '1' }), null, ['failure redis.cluster']],
  ['that may evict', redis({ maxmemory_policy: 'allkeys-lru' }), null, ['failure redis.maxmemory_policy']],
  ['that has evicted', redis({ evicted_keys: '12' }), null, ['failure redis.evicted']],
  ['that is full', redis({ used_memory: '980' }), null, ['failure redis.memory']],
  ['that fills up', redis({ used_memory: '900' }), null, ['warning redis.memory']],
  ["with its machine's memory as limit", redis({ maxmemory: '1990' }), null, ['warning redis.maxmemory']],
  ['without a limit', redis({ maxmemory: '0' }), null, []],
  ['whose buckets are packed', redis({}, { buckets: { idsInBucket: 383, packedMax: 512 } }), null, []],
  [
    'whose buckets are nearly full',
    redis({}, { buckets: { idsInBucket: 384, packedMax: 512 } }),
    null,
    ['warning redis.buckets'],
  ],
  ['that keeps nothing', redis({ aof_enabled: '0' }), null, ['failure redis.persistence']],
  ['that takes snapshots', redis({ aof_enabled: '0' }, { savePoints: '3600 1' }), null, ['warning redis.persistence']],
  [
    'whose snapshots may not be asked',
    redis({ aof_enabled: '0' }, { savePoints: null }),
    null,
    ['warning redis.persistence'],
  ],
  ['that cannot store', redis({ aof_last_write_status: 'err' }), null, ['failure redis.storing']],
  ['without a replica', redis({ connected_slaves: '0' }), null, ['warning redis.replica']],
  ['on a machine that does not overcommit', redis(), 0, ['warning redis.overcommit']],
])('of a Redis %s', (_, facts, overcommit, said) => {
  expect(bad(redisChecks(facts, overcommit))).toEqual(said);
});

test('a node of a cluster is well where processes take it for one', () => {
  expect(bad(redisChecks(redis({ cluster_enabled: '1' }), null, true))).toEqual([]);
});

const clickhouse = (some: Partial<ClickhouseFacts> = {}): ClickhouseFacts => ({
  ...{ version: '26.7.2.1', aheadMs: 0, settings: new Map([['readonly', '0']]) },
  migrations: { missing: [], mismatches: [] },
  dictionaries: [{ name: 'merged_persons_base', status: 'LOADED', failure: '' }],
  ...{ mutations: [], longestMergeSeconds: 4 },
  health: { parts: [{ table: 'event_rows', parts: 12 }], disks: [{ disk: 'default', free: 0.5 }] },
  cluster: null,
  ...some,
});
const server = (shard: number, some: Partial<ServerFacts> = {}): ServerFacts => ({
  ...{ address: `ch${shard}:9000`, shard, isInternal: true, tables: '7', delaySeconds: 0, isReadonly: false },
  ...some,
});
const cluster = (isReplicated: boolean, ...servers: ServerFacts[]) =>
  clickhouse({ cluster: { name: 'main', isReplicated, named: 2, servers } });
const parts = (count: number) => ({ parts: [{ table: 'event_rows', parts: count }], disks: [] });

test.each<[string, ClickhouseFacts, string[]]>([
  ['as it should be', clickhouse(), []],
  ['of two shards', cluster(false, server(1, { isInternal: false }), server(2, { isInternal: false })), []],
  [
    'with a shard away',
    cluster(false, server(1), server(2, { tables: null })),
    ['failure clickhouse.cluster', 'warning clickhouse.cluster'],
  ],
  [
    'with a replica away',
    cluster(true, server(1), server(2), server(2, { tables: null })),
    ['warning clickhouse.cluster'],
  ],
  [
    'with a server that missed a migration',
    cluster(true, server(1), server(2, { tables: '8' })),
    ['failure clickhouse.cluster'],
  ],
  ['that writes to each replica', cluster(true, server(1, { isInternal: false })), ['failure clickhouse.cluster']],
  ['with a replica that is behind', cluster(true, server(1, { delaySeconds: 900 })), ['warning clickhouse.cluster']],
  ['with a replica without Keeper', cluster(true, server(1, { isReadonly: true })), ['warning clickhouse.cluster']],
  [
    'of three shards, of which two are named',
    cluster(false, server(1), server(2), server(3)),
    ['failure clickhouse.cluster'],
  ],
  ['of a cluster that it does not know', cluster(true), ['failure clickhouse.cluster']],
  ['that is older', clickhouse({ version: '25.11.1.1' }), ['warning clickhouse.version']],
  ['an hour off', clickhouse({ aheadMs: -3_600_000 }), ['failure clickhouse.clock']],
  [
    'where only reading is allowed',
    clickhouse({ settings: new Map([['readonly', '2']]) }),
    ['failure clickhouse.settings'],
  ],
  [
    'that stores repeated inserts',
    clickhouse({ settings: new Map([['deduplicate_insert', 'disable']]) }),
    ['failure clickhouse.settings'],
  ],
  [
    'that ends long statements',
    clickhouse({ settings: new Map([['max_execution_time', '30']]) }),
    ['warning clickhouse.settings'],
  ],
  [
    'without a migration',
    clickhouse({ migrations: { missing: ['0005'], mismatches: [] } }),
    ['failure clickhouse.tables'],
  ],
  [
    'with another migration',
    clickhouse({ migrations: { missing: [], mismatches: [{ name: '0001', reason: 'changed' }] } }),
    ['warning clickhouse.tables'],
  ],
  [
    'whose password changed',
    clickhouse({
      dictionaries: [{ name: 'merged_persons_recent', status: 'FAILED', failure: 'AUTHENTICATION_FAILED' }],
    }),
    ['failure clickhouse.dictionaries'],
  ],
  [
    'with a mutation that fails',
    clickhouse({ mutations: [{ table: 'event_rows', code: 'UNFINISHED' }] }),
    ['warning clickhouse.mutations'],
  ],
  ['with a merge that takes hours', clickhouse({ longestMergeSeconds: 9_000 }), ['warning clickhouse.merges']],
  ['with many parts', clickhouse({ health: parts(700) }), ['warning clickhouse.parts']],
  ['with too many parts', clickhouse({ health: parts(2_000) }), ['failure clickhouse.parts']],
  [
    'whose disk is nearly full',
    clickhouse({ health: { parts: [], disks: [{ disk: 'default', free: 0.05 }] } }),
    ['warning clickhouse.disk'],
  ],
  [
    'whose disk is full',
    clickhouse({ health: { parts: [], disks: [{ disk: 'default', free: 0.01 }] } }),
    ['failure clickhouse.disk'],
  ],
  [
    'that may not be asked',
    clickhouse({
      settings: null,
      migrations: null,
      dictionaries: null,
      mutations: null,
      longestMergeSeconds: null,
      health: null,
    }),
    ['settings', 'tables', 'dictionaries', 'mutations', 'merges', 'disk'].map((name) => `warning clickhouse.${name}`),
  ],
])('of a ClickHouse %s', (_, facts, said) => {
  expect(bad(clickhouseChecks(facts))).toEqual(said);
});

test.each<[string, string | null, number | null, string[]]>([
  ['as it should be', 'BACKWARD_TRANSITIVE', 900, []],
  ['that does not tell the time', 'BACKWARD_TRANSITIVE', null, []],
  ['whose clock is off', 'BACKWARD_TRANSITIVE', 60_000, ['warning registry.clock']],
  ['that takes anything', 'NONE', 0, ['failure registry.compatibility']],
  ['with another compatibility', 'FORWARD', 0, ['warning registry.compatibility']],
  ['without a compatibility', null, 0, ['warning registry.compatibility']],
])('of a registry %s', (_, level, aheadMs, said) => {
  expect(bad(registryChecks({ subjects: new Map([['events.raw', level]]), missing: [], aheadMs }))).toEqual(said);
});

test('of a registry without a schema', () => {
  const facts = { subjects: new Map(), missing: ['events.raw'], aheadMs: 0 };
  expect(bad(registryChecks(facts))).toEqual(['failure registry.schemas']);
});

const login = (some: Partial<Login>): Login => ({
  ...{ part: 'redis', variable: 'REDIS_URL', host: 'redis.example', isEncrypted: true, password: 'k3Vw92LmQx7Rt5Zp' },
  ...some,
});

test.each<[string, CheckResult[], string[]]>([
  ['a login', loginChecks([login({})]), []],
  ['a login of this machine', loginChecks([login({ host: '127.0.0.1', isEncrypted: false, password: null })]), []],
  ['no password', loginChecks([login({ password: null })]), ['warning redis.login']],
  ['a short password', loginChecks([login({ password: 'k3Vw92' })]), ['warning redis.login']],
  ['the password of an example', loginChecks([login({ password: 'changeme' })]), ['failure redis.login']],
  ['an open line', loginChecks([login({ isEncrypted: false })]), ['warning redis.encryption']],
  [
    'a key',
    secretChecks(
      new Map([
        [
          'SECRETS_KEYS',
          ['q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=', 'AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA='],
        ],
      ]),
    ),
    ['failure secrets.secrets_keys'],
  ],
  [
    'keys that are one',
    secretChecks(new Map([['IDENTITY_SECRET', [Buffer.alloc(32).toString('base64')]]])),
    ['failure secrets.identity_secret'],
  ],
  [
    'a certificate',
    [certificateCheck('kafka.certificate', { validToMs: NOW_MS + 90 * DAY_MS, untrusted: null }, NOW_MS)],
    [],
  ],
  [
    'a certificate that ends soon',
    [certificateCheck('kafka.certificate', { validToMs: NOW_MS + 9 * DAY_MS, untrusted: null }, NOW_MS)],
    ['warning kafka.certificate'],
  ],
  [
    'one that has ended',
    [certificateCheck('kafka.certificate', { validToMs: NOW_MS - DAY_MS, untrusted: 'CERT_HAS_EXPIRED' }, NOW_MS)],
    ['failure kafka.certificate'],
  ],
  [
    'one of nobody',
    [
      certificateCheck(
        'kafka.certificate',
        { validToMs: NOW_MS + 90 * DAY_MS, untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
        NOW_MS,
      ),
    ],
    ['failure kafka.certificate'],
  ],
  ['Node', [nodeCheck('v24.21.0')], []],
  ['an old Node', [nodeCheck('v22.1.0')], ['failure node.version']],
  ['sound settings', configurationChecks([], []), []],
  [
    'wrong settings',
    configurationChecks(['EDGE_PORT must be a whole number'], ['nothing reads EDGE_POT']),
    ['failure configuration.valid', 'warning configuration.valid'],
  ],
  ['a disk', [diskCheck('host.disk', '/data', 30 * 1024 ** 3, 1_000 * 1024 ** 3)], []],
  ['a disk that fills up', [diskCheck('host.disk', '/data', 8 * 1024 ** 3, 100 * 1024 ** 3)], ['warning host.disk']],
  ['a large disk of which little is free', [diskCheck('host.disk', '/data', 25 * 1024 ** 3, 1_000 * 1024 ** 3)], []],
  ['a full disk', [diskCheck('host.disk', '/data', 0.4 * 1024 ** 3, 20 * 1024 ** 3)], ['failure host.disk']],
  ['a clock behind', [clockCheck('redis.clock', 'Redis', -6_000)], ['warning redis.clock']],
])('of %s', (_, checks, said) => {
  expect(bad(checks)).toEqual(said);
});

test('everything that is not well says what to do, by a heading of the runbook that is there', () => {
  const headings = anchorsIn(readFileSync('docs/operations.md', 'utf8'));
  const todos = seen.filter(({ state }) => state !== 'ok').map(({ todo }) => todo);
  expect(todos.length).toBeGreaterThan(50);
  expect(todos).not.toContain('');
  const named = todos.flatMap((todo) =>
    [...todo.matchAll(/docs\/operations\.md#(\S+)/g)].map(([, anchor = '']) => anchor),
  );
  expect(named.filter((anchor) => !headings.has(anchor))).toEqual([]);
});

describe('doctor', () => {
  const ok = { check: 'redis.role', state: 'ok', says: 'takes writes', todo: '' } as const;
  const warns = { check: 'redis.replica', state: 'warning', says: 'has none', todo: 'run one' } as const;
  const fails = { check: 'redis.evicted', state: 'failure', says: 'evicted', todo: 'set it' } as const;
  const section = (look: () => Promise<CheckResult[]>) => ({ part: 'redis', name: 'Redis', look });

  it('says each thing in a line, with what to do, and sums up', async () => {
    const result = await doctorReport([section(async () => [ok, warns])], false);
    expect(result).toEqual({
      exitCode: 0,
      stdout: [
        'ok       redis.role     takes writes',
        'warning  redis.replica  has none',
        `${' '.repeat(24)}-> run one`,
        '',
        '0 failures, 1 warning, 1 ok',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('says the same as JSON, with exit status 1 where something fails', async () => {
    const result = await doctorReport([section(async () => [ok, fails])], true);
    expect(result.exitCode).toBe(1);
    expect(JSON.parse(result.stdout)).toEqual({ failures: 1, warnings: 0, checks: [ok, fails] });
  });

  it('looks at the others where a part hangs or throws, and quotes nothing of its error', async () => {
    const refused = Object.assign(new Error('connect to redis://svc:hunter2@127.0.0.1: WRONG_PASS'), {
      code: 'ECONNREFUSED',
    });
    const sections = [
      section(() => new Promise(() => undefined)),
      section(() => Promise.reject(refused)),
      section(async () => [ok]),
    ];
    const { stdout, exitCode } = await doctorReport(sections, false, 1);
    expect(exitCode).toBe(1);
    expect(stdout).not.toContain('hunter2');
    expect(stdout.split('\n').filter((line) => /^(?:ok|failure)/.test(line))).toEqual([
      'failure  redis.reachable  Redis cannot be looked at: no answer in time',
      'failure  redis.reachable  Redis cannot be looked at: Error ECONNREFUSED WRONG_PASS',
      'ok       redis.role       takes writes',
    ]);
  });

  it('names what is not set or wrong, and no value of it', async () => {
    const env = {
      ...{ REDIS_URL: 'redis://svc:hunter2@redis.example:6379', SECRETS_KEYS: 'main:hunter2', EDGE_PORT: 'many' },
      ...{
        KAFKA_BROKERS: 'kafka.example:9093',
        KAFKA_SASL_MECHANISM: 'plain',
        KAFKA_TLS: 'true',
        KAFKA_TLS_CA_FILE: '/no/ca.pem',
      },
    };
    const sections = doctorSections({ env, ready: null, readDisks: async () => [], nowMs: () => NOW_MS });
    expect(sections.map(({ part }) => part)).toEqual(['host', 'redis']);
    const { stdout } = await doctorReport(sections.slice(0, 1), false);
    expect(stdout).not.toContain('hunter2');
    for (const said of [
      'EDGE_PORT must be a whole number',
      'SECRETS_KEYS must be',
      'KAFKA_SASL_USERNAME is not set',
      'REDIS_URL has a password of less than 12 characters',
      'the connection to redis is not encrypted, password included',
      'CLICKHOUSE_URL is not set: that part was not looked at',
    ]) {
      expect(stdout).toContain(said);
    }
  });
});
