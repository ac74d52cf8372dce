// What is to be said of a Redis, of what it says of itself.
import type { RedisFacts } from '#infra/redis/inspect.ts';
import { type CheckResult, clockCheck, failure, OPERATIONS, ok, warning } from './doctor.ts';

const VERSION_MIN = 6.2;
const VERSION_WANTED = 7;
const REBUILT = `${OPERATIONS}#rebuilding-dedup-keys`;

/**
 * @param overcommit `vm.overcommit_memory` of the machine that Redis runs on; null where that is another one.
 * @param isCluster Whether processes take it for a node of a cluster.
 */
export function redisChecks(
  { fields, aheadMs, savePoints, buckets }: RedisFacts,
  overcommit: number | null,
  isCluster = false,
): CheckResult[] {
  const text = (name: string): string => fields.get(name) ?? '';
  const count = (name: string): number => Number(text(name) || Number.NaN);
  return [
    ok('redis.reachable', 'Redis answers'),
    versionCheck(text('redis_version')),
    clockCheck('redis.clock', 'Redis', aheadMs),
    text('role') === 'slave'
      ? failure('redis.role', 'this Redis is a replica: nothing can be written', 'set REDIS_URL to the primary')
      : ok('redis.role', 'this Redis takes writes'),
    text('cluster_enabled') === '1' && !isCluster
      ? failure('redis.cluster', 'this Redis is a node of a cluster', `set REDIS_CLUSTER=true: ${OPERATIONS}#redis`)
      : ok('redis.cluster', isCluster ? 'Redis is a cluster' : 'this Redis is no cluster'),
    policyCheck(text('maxmemory_policy')),
    count('evicted_keys') > 0
      ? failure(
          'redis.evicted',
          `Redis has evicted ${text('evicted_keys')} keys: duplicates may have passed`,
          `FLUSHALL after setting noeviction, so that everything is rebuilt: ${REBUILT}`,
        )
      : ok('redis.evicted', 'Redis has evicted nothing'),
    ...memoryChecks(count('used_memory'), count('maxmemory'), count('total_system_memory')),
    ...bucketChecks(buckets),
    persistenceCheck(text('aof_enabled') === '1', savePoints),
    storingCheck(text),
    count('connected_slaves') > 0 || text('role') === 'slave'
      ? ok('redis.replica', 'Redis has a replica')
      : warning(
          'redis.replica',
          'Redis has no replica: dedup stands while a lost one is made again',
          `run one: ${REBUILT}`,
        ),
    ...(overcommit === null || overcommit === 1
      ? []
      : [
          warning(
            'redis.overcommit',
            `vm.overcommit_memory is ${overcommit}: rewriting the append-only file may fail`,
            'sysctl vm.overcommit_memory=1',
          ),
        ]),
  ];
}

function versionCheck(version: string): CheckResult {
  const check = 'redis.version';
  const number = Number(/^\d+\.\d+/.exec(version)?.[0] ?? 0);
  if (number < VERSION_MIN) return failure(check, `Redis ${version} is too old`, 'run 7.0 or later');
  if (number >= VERSION_WANTED) return ok(check, `Redis ${version}`);
  return warning(check, `Redis ${version} does not tell reading a key from writing it`, 'run 7.0 or later');
}

function policyCheck(policy: string): CheckResult {
  return policy === 'noeviction'
    ? ok('redis.maxmemory_policy', 'Redis evicts no keys')
    : failure(
        'redis.maxmemory_policy',
        `maxmemory-policy is ${policy}: keys are evicted, dedup and identity do not start`,
        'set noeviction',
      );
}

function memoryChecks(used: number, limit: number, machine: number): CheckResult[] {
  const check = 'redis.memory';
  const share = used / (limit || machine);
  if (Number.isNaN(share)) return [];
  const says = `Redis uses ${Math.floor(100 * share)} % of ${limit > 0 ? 'maxmemory' : "its machine's memory"}`;
  const todo = `give it more memory: ${REBUILT}`;
  if (share >= 0.97) return [failure(check, says, todo)];
  const states = [share >= 0.85 ? warning(check, says, todo) : ok(check, says)];
  if (limit > 0 && limit > 0.9 * machine) {
    states.push(
      warning('redis.maxmemory', 'maxmemory leaves less than a tenth of the machine: it may be killed', 'lower it'),
    );
  }
  return states;
}

/** Buckets grow with the rate of events, by a quarter more than the window between two sweeps. */
const BUCKET_WARNING = 0.75;

/** An id in a bucket that Redis no longer packs takes five times the memory. */
function bucketChecks(buckets: RedisFacts['buckets']): CheckResult[] {
  if (buckets === null) return [];
  const check = 'redis.buckets';
  const { idsInBucket, packedMax } = buckets;
  const says = `buckets of event ids hold ${Math.round(idsInBucket)} each; Redis packs up to ${packedMax}`;
  if (idsInBucket < BUCKET_WARNING * packedMax) return [ok(check, says)];
  const then = idsInBucket < packedMax ? 'beyond them an id takes' : 'an id takes';
  const todo = `raise DEDUP_BUCKET_CHARS by one: ${REBUILT}`;
  return [warning(check, `${says}, ${then} five times the memory`, todo)];
}

/** Without one of the two a restart loses all, which is made again from Kafka for hours. */
function persistenceCheck(appends: boolean, savePoints: string | null): CheckResult {
  const check = 'redis.persistence';
  const todo = `set appendonly yes and appendfsync everysec: ${REBUILT}`;
  if (appends) return ok(check, 'Redis keeps an append-only file');
  return savePoints !== ''
    ? warning(check, 'Redis keeps snapshots only: a restart loses what came since', todo)
    : failure(check, 'Redis keeps nothing on disk: a restart loses all, and dedup stands while it is made again', todo);
}

function storingCheck(text: (name: string) => string): CheckResult {
  const check = 'redis.storing';
  const failed = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'].filter(
    (name) => !['ok', ''].includes(text(name)),
  );
  return failed.length === 0
    ? ok(check, 'Redis stored its last writes')
    : failure(
        check,
        `Redis could not store: ${failed.join(', ')}`,
        `free its disk; its log has the cause: ${OPERATIONS}#disks-and-parts`,
      );
}
