// What is to be said of a ClickHouse, of what it says of itself.
import type { ClickhouseFacts } from '#infra/clickhouse/inspect.ts';
import { type CheckResult, clockCheck, failure, listed, OPERATIONS, ok, unread, warning } from './doctor.ts';

/** That of our tests. */
const TESTED = '26.7';
const TABLES = `${OPERATIONS}#a-table-that-does-not-match`;
const GRANT = 'use the login of provisioning to look at it';

export function clickhouseChecks(facts: ClickhouseFacts): CheckResult[] {
  return [
    ok('clickhouse.reachable', 'ClickHouse answers'),
    versionCheck(facts.version),
    clockCheck('clickhouse.clock', 'ClickHouse', facts.aheadMs),
    ...settingsChecks(facts.settings),
    migrationsCheck(facts.migrations),
    dictionariesCheck(facts.dictionaries),
    mutationsCheck(facts.mutations),
    mergesCheck(facts.longestMergeSeconds),
    ...serverChecks(facts.health),
    ...(facts.cluster === null ? [] : clusterChecks(facts.cluster)),
  ];
}

function versionCheck(version: string): CheckResult {
  const check = 'clickhouse.version';
  const older = version.localeCompare(TESTED, 'en', { numeric: true }) < 0;
  return older
    ? warning(check, `ClickHouse ${version} is older than ${TESTED}, with which this is tested`, `upgrade to ${TESTED}`)
    : ok(check, `ClickHouse ${version}`);
}

const NO_LIMIT = 0;
const SECONDS_MIN = 60;

function settingsChecks(settings: ClickhouseFacts['settings']): CheckResult[] {
  const check = 'clickhouse.settings';
  if (settings === null) return [unread(check, 'settings', GRANT)];
  const settingOf = (name: string): string => settings.get(name) ?? '';
  const limit = Number(settingOf('max_execution_time'));
  const found = [
    ...(settingOf('readonly') === '0' || settingOf('readonly') === ''
      ? []
      : [failure(check, 'the user may only read (readonly)', "take readonly out of the user's profile")]),
    ...(settingOf('deduplicate_insert') === 'disable'
      ? [
          failure(
            check,
            'deduplicate_insert is off: an insert that is repeated is stored twice',
            "set deduplicate_insert = 'enable' in the user's profile",
          ),
        ]
      : []),
    ...(limit !== NO_LIMIT && limit < SECONDS_MIN
      ? [
          warning(
            check,
            `max_execution_time is ${limit} s: merging persons and migrations take longer`,
            'set 0 for this user',
          ),
        ]
      : []),
  ];
  return found.length === 0 ? [ok(check, 'no setting of the user changes inserts')] : found;
}

function migrationsCheck(migrations: ClickhouseFacts['migrations']): CheckResult {
  const check = 'clickhouse.tables';
  const todo = `run node services/provision/main.ts: ${TABLES}`;
  if (migrations === null) return warning(check, 'migrations may not be read, or never ran', todo);
  const { missing, mismatches } = migrations;
  if (missing.length > 0) return failure(check, `migrations are missing: ${listed(missing)}`, todo);
  if (mismatches.length === 0) return ok(check, 'all migrations are applied');
  const says = mismatches.map(({ name, reason }) => `${name} (${reason})`);
  return warning(check, `migrations differ from those applied: ${listed(says)}`, `${OPERATIONS}#mismatch-lines`);
}

function dictionariesCheck(dictionaries: ClickhouseFacts['dictionaries']): CheckResult {
  const check = 'clickhouse.dictionaries';
  if (dictionaries === null) return unread(check, 'dictionaries', GRANT);
  const failed = dictionaries.filter(({ status, failure: code }) => /FAILED/.test(status) || code !== '');
  if (failed.length === 0) return ok(check, 'the dictionaries of merged persons load');
  const says = failed.map(({ name, failure: code }) => `${name} (${code || 'no reason'})`);
  return failure(
    check,
    `dictionaries do not load, queries of events fail: ${listed(says)}`,
    `often a changed password; run node services/provision/main.ts: ${OPERATIONS}#changing-passwords`,
  );
}

function mutationsCheck(mutations: ClickhouseFacts['mutations']): CheckResult {
  const check = 'clickhouse.mutations';
  if (mutations === null) return unread(check, 'mutations', GRANT);
  const says = [...new Set(mutations.map(({ table, code }) => `${table} (${code || 'no reason'})`))];
  return says.length === 0
    ? ok(check, 'no mutation fails')
    : warning(
        check,
        `mutations fail again and again: ${listed(says)}`,
        'look at system.mutations; KILL MUTATION ends one',
      );
}

const LONG_MERGE_SECONDS = 3_600;

function mergesCheck(seconds: number | null): CheckResult {
  const check = 'clickhouse.merges';
  if (seconds === null) return unread(check, 'merges', GRANT);
  return seconds < LONG_MERGE_SECONDS
    ? ok(check, 'merges end in time')
    : warning(
        check,
        `a merge has been running for ${Math.floor(seconds / 60)} minutes`,
        `look at its disk and cores: ${OPERATIONS}#disks-and-parts`,
      );
}

const PARTS_WARNING = 600;
const PARTS_FAILURE = 1_500;

function serverChecks(health: ClickhouseFacts['health']): CheckResult[] {
  if (health === null) return [unread('clickhouse.disk', 'parts and disks', GRANT)];
  const [most] = health.parts;
  const says =
    most === undefined ? 'there are no parts yet' : `at most ${most.parts} active parts in a partition (${most.table})`;
  const todo = `inserts are slowed from 1,000 on: ${OPERATIONS}#disks-and-parts`;
  const parts = most?.parts ?? 0;
  return [
    parts >= PARTS_FAILURE
      ? failure('clickhouse.parts', says, todo)
      : parts >= PARTS_WARNING
        ? warning('clickhouse.parts', says, todo)
        : ok('clickhouse.parts', says),
    ...health.disks.map(({ disk, free }) => {
      const left = `ClickHouse's disk ${disk}: ${Math.floor(100 * free)} % free`;
      const free_it = `free space, or keep rows for fewer days: ${OPERATIONS}#retention`;
      if (free < 0.03) return failure('clickhouse.disk', left, free_it);
      return free < 0.1 ? warning('clickhouse.disk', left, free_it) : ok('clickhouse.disk', left);
    }),
  ];
}

const CLUSTER = `${OPERATIONS}#a-clickhouse-cluster`;
const DELAY_WARNING_SECONDS = 300;

function clusterChecks({ name, isReplicated, named, servers }: NonNullable<ClickhouseFacts['cluster']>): CheckResult[] {
  const check = 'clickhouse.cluster';
  if (servers === null) return [unread(check, 'servers of the cluster', GRANT)];
  if (servers.length === 0)
    return [failure(check, `remote_servers has no cluster ${name}`, `define it on every server: ${CLUSTER}`)];
  const away = servers.filter(({ tables }) => tables === null);
  const there = servers.filter(({ tables }) => tables !== null);
  const addresses = (some: typeof servers): string => listed(some.map(({ address }) => address));
  const shards = new Set(servers.map(({ shard }) => shard));
  const without = [...shards].filter((shard) => !there.some((server) => server.shard === shard));
  const outside = servers.filter(({ isInternal }) => !isInternal);
  const late = there.filter(({ isReadonly, delaySeconds }) => isReadonly || delaySeconds > DELAY_WARNING_SECONDS);
  const found = [
    ...(without.length > 0
      ? [
          failure(
            check,
            `no server of shard ${listed(without.map(String))} answers: rows and questions wait`,
            `start one again: ${CLUSTER}`,
          ),
        ]
      : []),
    ...(away.length > 0
      ? [warning(check, `servers do not answer: ${addresses(away)}`, `start them again: ${CLUSTER}`)]
      : []),
    ...(new Set(there.map(({ tables }) => tables)).size > 1
      ? [failure(check, 'servers differ in their tables', `run node services/provision/main.ts: ${CLUSTER}`)]
      : []),
    ...(isReplicated && outside.length > 0
      ? [
          failure(
            check,
            `internal_replication is not set for ${addresses(outside)}: rows are written to each replica`,
            `set it in remote_servers: ${CLUSTER}`,
          ),
        ]
      : []),
    ...(late.length > 0
      ? [
          warning(
            check,
            `replicas are behind or take no rows: ${addresses(late)}`,
            'look at Keeper and system.replicas',
          ),
        ]
      : []),
    ...(!isReplicated && named !== servers.length
      ? [
          failure(
            check,
            `CLICKHOUSE_URL names ${named} of the ${servers.length} servers`,
            'name all where CLICKHOUSE_REPLICATED is false',
          ),
        ]
      : []),
  ];
  return found.length === 0
    ? [ok(check, `${servers.length} servers of ${shards.size} shards answer, with the same tables`)]
    : found;
}
