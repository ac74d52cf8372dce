// Which rights each process needs, and the statements that give them in ClickHouse and Redis. Kafka's: infra/kafka/provision.ts.

import { hash } from 'node:crypto';
import { PROCESSES, type ProcessKind } from '#infra/config/catalogue.ts';
import { deadTopic, STAGES, TOPICS } from '#infra/kafka/topics.ts';
import { replayTopic, topicsOf } from '#pipelines/delivery/retry_topics.ts';

/**
 * What each process may do at Kafka, Redis and ClickHouse: all that it needs, and no more. Whoever takes over the edge, which
 * the internet reaches, gets no settings, sessions or stored events with it. The brokers' ACLs, the users of Redis and ClickHouse,
 * what `npm start` uses and the commands of docs/operations.md are made of this one table.
 */
interface ProcessRights {
  kafka: KafkaRights;
  /** Null: it does not use that part, and is not told its address. */
  redis: RedisRights | null;
  clickhouse: readonly ClickhouseRight[] | null;
}

/** Names of topics; one that ends in `*` stands for all that begin so. Reading and writing imply describing. */
export interface KafkaRights {
  reads: readonly string[];
  writes: readonly string[];
  describes?: readonly string[];
  /** Behind the prefix of the installation: groups that it is in or commits for, with all whose names go on after a dot. */
  groups: readonly string[];
  groupsDescribed?: readonly string[];
  groupsDeleted?: readonly string[];
  /** Behind that prefix: what its transactional ids begin with, before a dot. */
  transactionalIds?: readonly string[];
}

/** Patterns of keys, and the commands beside those that every process has; scripts run with the rights of their caller. */
interface RedisRights {
  keys: readonly string[];
  keysRead?: readonly string[];
  commands: readonly string[];
}

/** Privileges on tables of the service's database; without tables, or with `*.*`, on the server. */
interface ClickhouseRight {
  privileges: readonly string[];
  on: readonly string[];
}

/** Groups of readers that follow a table, or read a topic once: each has a name of its own behind these. */
const TABLE = 'table';
const ONCE = 'once';

/** By the clock and the life of the server: `whole.lua`, and what the client asks when it connects. */
export const REDIS_COMMANDS = [
  ...['eval', 'evalsha', 'info', 'ping', 'select', 'time'],
  // Of a cluster: who has which slot, and what a node is asked of a slot that is being moved to it.
  ...['asking', 'cluster|info', 'cluster|myid', 'cluster|nodes', 'cluster|slots', 'readonly', 'readwrite'],
] as const;

/** Of the life of an index, and of making it again. */
const INDEX_COMMANDS = ['get', 'set', 'del', 'hset', 'hgetall', 'pexpire'];

const DICTIONARIES = ['merged_persons_base', 'merged_persons_recent'];
const PERSON_TABLES = 'person_links person_splits merged_persons person_seen';
const AGING = ['event_rows', 'delivery_outcomes', 'inventory', 'duplicates'];

/** The rights of a process at the installation that delivers to `destinations`; `destination` is that of a delivery. */
export const rightsOf = (kind: ProcessKind, destinations: readonly string[], destination = ''): ProcessRights =>
  RIGHTS[kind](destinations, destination);

const words = (text: string): string[] => text.split(' ');

const { raw, unique, identified, outcomes, links, counts, duplicates, usage, inventory, settings } = TOPICS;
const { audit, dataReads, replays, resent, resolved, redeliverIdentity, redeliverWarehouse, stageOffsets, erasures } =
  TOPICS;
const { alerts } = TOPICS;

const RIGHTS: Record<ProcessKind, (destinations: readonly string[], destination: string) => ProcessRights> = {
  edge: () => ({
    kafka: { reads: [settings], writes: [raw, inventory], groups: [TABLE] },
    redis: {
      // `i:{SITE}:`, of a cluster `i:{0}:SITE:`, is the prefix that a script is given for what it reads; no key is called so.
      keys: words(
        'rate:* q:{*}:* q:{edges}leases q:{edges}checkpoints salt:* inv:* keys.used refusals.* tag.* engage:* i:{*:',
      ),
      keysRead: ['i:*'],
      commands: words(
        'get set expire pexpire ttl hget hset hdel hlen hkeys hmget hgetall hincrby sadd scard zadd zrange zrem zrangebyscore zremrangebyrank zremrangebyscore',
      ),
    },
    clickhouse: null,
  }),
  control: (destinations) => ({
    kafka: {
      // Links say by which evidence people are one, to split or erase them.
      reads: [
        ...[settings, dataReads, replays, resent, resolved, outcomes, links, erasures, alerts],
        ...[...STAGES.map(deadTopic), ...destinations.map(replayTopic)],
      ],
      writes: [
        ...[settings, links, erasures, alerts, audit, dataReads, resent, resolved, raw],
        ...[redeliverIdentity, redeliverWarehouse],
        ...destinations.map(replayTopic),
      ],
      // How far the stages are.
      describes: [unique, identified, counts, duplicates, usage, inventory, 'delivery.*'],
      groups: [TABLE, ONCE],
      groupsDescribed: words('dedup quota identity warehouse delivery replay'),
      // It writes deliveries anew in place of a replay.
      transactionalIds: ['control', 'replay'],
    },
    redis: {
      keys: words(
        'session:* session_proof:* session_factor:* sessions:* once:* {sign_in}:* {share}:* query.answer:* query.lease:* i:*',
      ),
      keysRead: words('q:* keys.used refusals.* tag.*'),
      commands: words(
        'get set del getdel exists incr pttl pexpire hget hset hincrby hlen hgetall sadd zadd zrem zrange zrevrange',
      ),
    },
    clickhouse: [
      { privileges: ['SELECT', 'dictGet'], on: ['*'] },
      { privileges: ['SELECT'], on: ['system.processes'] },
      { privileges: ['INSERT'], on: ['person_splits', 'currency_rates', 'cohort_members'] },
      { privileges: ['ALTER DELETE'], on: ['cohort_members'] },
      { privileges: ['ALTER UPDATE'], on: ['event_rows'] },
      // To have queries of others end, to estimate what one reads, and to write a file of rows that it sends along.
      { privileges: ['KILL QUERY', 'CREATE TEMPORARY TABLE'], on: [] },
    ],
  }),
  dedup: () => ({
    kafka: {
      reads: [raw, unique, stageOffsets, erasures],
      writes: [unique, counts, duplicates, deadTopic('dedup'), stageOffsets],
      groups: ['dedup', TABLE, ONCE],
      transactionalIds: ['dedup'],
    },
    redis: { keys: ['d:*'], commands: [...INDEX_COMMANDS, ...words('hget hlen hdel hsetnx scan unlink')] },
    clickhouse: null,
  }),
  identity: () => ({
    kafka: {
      reads: [unique, redeliverIdentity, links, identified, stageOffsets, erasures],
      writes: [identified, links, deadTopic('identity'), stageOffsets],
      groups: ['identity', TABLE, ONCE],
      transactionalIds: ['identity'],
    },
    redis: {
      keys: ['i:*'],
      commands: [...INDEX_COMMANDS, ...words('hget hdel mget exists hincrby sadd sismember')],
    },
    clickhouse: null,
  }),
  quota: () => ({
    kafka: {
      reads: [settings, counts, usage],
      writes: [usage, deadTopic('quota')],
      describes: [raw],
      groups: ['quota', TABLE],
    },
    redis: {
      keys: ['q:*'],
      commands: words('del expire hget hset hdel hlen hkeys hgetall hincrby zadd zrem zrangebyscore'),
    },
    clickhouse: null,
  }),
  warehouse: () => ({
    kafka: {
      reads: [
        settings,
        identified,
        redeliverWarehouse,
        links,
        usage,
        outcomes,
        inventory,
        duplicates,
        stageOffsets,
        erasures,
      ],
      writes: [deadTopic('warehouse'), stageOffsets],
      groups: ['warehouse', TABLE],
    },
    redis: null,
    clickhouse: [
      {
        privileges: ['INSERT'],
        on: words(
          'event_rows person_links quota_usage delivery_outcomes inventory duplicates repeat_checks repeated_events',
        ),
      },
      // What is there already, what stands there twice, and whose person was merged; and what views make of what is inserted.
      {
        privileges: ['SELECT'],
        on: words(
          'event_rows person_links person_splits delivery_outcomes merged_persons repeat_checks repeated_events',
        ),
      },
      { privileges: ['dictGet'], on: DICTIONARIES },
      { privileges: ['ALTER TTL', 'ALTER SETTINGS', 'SHOW TABLES'], on: AGING },
      { privileges: ['ALTER UPDATE'], on: ['event_rows'] },
      { privileges: ['ALTER DELETE'], on: ['merged_persons', ...AGING] },
      // Those in whose partitions rows of a site are too old.
      { privileges: ['SELECT'], on: ['inventory', 'duplicates'] },
      { privileges: ['SYSTEM RELOAD DICTIONARY'], on: [] },
      {
        privileges: ['SELECT'],
        on: words('system.tables system.parts system.disks system.mutations system.dictionaries'),
      },
    ],
  }),
  delivery: (_, destination) => ({
    kafka: {
      reads: [settings, identified, ...topicsOf(destination), stageOffsets, erasures],
      writes: [outcomes, deadTopic('delivery'), ...topicsOf(destination), stageOffsets],
      groups: [`delivery.${destination}`, TABLE],
      transactionalIds: [`delivery.${destination}`],
    },
    redis: null,
    clickhouse: null,
  }),
  replay: (destinations) => ({
    kafka: {
      reads: [
        settings,
        erasures,
        replays,
        identified,
        outcomes,
        deadTopic('delivery'),
        ...destinations.map(replayTopic),
      ],
      writes: [replays, ...destinations.map(replayTopic)],
      groups: ['replay', TABLE, ONCE],
      groupsDescribed: ['delivery', 'warehouse'],
      groupsDeleted: ['replay'],
      transactionalIds: ['replay'],
    },
    redis: null,
    clickhouse: [{ privileges: ['SELECT'], on: ['delivery_outcomes'] }],
  }),
  erasure: () => ({
    kafka: {
      // What stages have yet to pass is read to its end.
      reads: [
        ...[settings, erasures, links, raw, unique, identified, outcomes, duplicates, inventory],
        ...[redeliverIdentity, redeliverWarehouse],
      ],
      writes: [erasures, links],
      groups: ['erasure', TABLE, ONCE],
      groupsDescribed: words('dedup identity warehouse'),
      transactionalIds: ['erasure'],
    },
    redis: {
      keys: words('i:* engage:* refusals.* tag.*'),
      commands: words('get set del hkeys hgetall srem scan unlink'),
    },
    clickhouse: [
      { privileges: ['SELECT', 'dictGet'], on: ['*'] },
      { privileges: ['SELECT'], on: words('system.mutations system.dictionaries') },
      { privileges: ['INSERT'], on: ['erasing', 'person_seen'] },
      { privileges: ['TRUNCATE'], on: ['erasing'] },
      {
        privileges: ['ALTER DELETE'],
        on: words(`event_rows delivery_outcomes duplicates repeated_events inventory cohort_members ${PERSON_TABLES}`),
      },
      { privileges: ['SYSTEM RELOAD DICTIONARY'], on: [] },
      {
        privileges: ['SYSTEM SYNC REPLICA'],
        on: words(`erasing event_rows delivery_outcomes duplicates repeated_events cohort_members ${PERSON_TABLES}`),
      },
    ],
  }),
  alerts: () => ({
    kafka: {
      // What stages have yet to pass is read to its end.
      reads: [settings, alerts, raw, unique, identified],
      writes: [alerts],
      groups: ['alerts', TABLE, ONCE],
      groupsDescribed: words('dedup identity warehouse'),
      transactionalIds: ['alerts'],
    },
    redis: { keys: [], keysRead: words('q:* refusals.*'), commands: words('get hget hgetall hlen zrevrange') },
    clickhouse: [{ privileges: ['SELECT', 'dictGet'], on: ['*'] }],
  }),
};

/** The user that a process is at all parts; the rights of the service's owner are those of `svc`. */
export function userOf(kind: ProcessKind, destination = ''): string {
  return kind === 'delivery' ? `svc_delivery_${destination}` : `svc_${kind}`;
}

export type ProcessUser = ReturnType<typeof processUsers>[number];

/** Every user of an installation that delivers to these destinations. */
export function processUsers(destinations: readonly string[]) {
  return PROCESSES.flatMap((kind) =>
    (kind === 'delivery' ? destinations : ['']).map((destination) => ({
      user: userOf(kind, destination),
      rights: rightsOf(kind, destinations, destination),
    })),
  );
}

/** Privileges as GRANT takes them, such as `SELECT ON svc.event_rows`. */
function grantsOf(rights: readonly ClickhouseRight[], database: string): string[] {
  return rights.flatMap(({ privileges, on }) =>
    (on.length === 0 ? ['*.*'] : on.map((name) => (name.includes('.') ? name : `${database}.${name}`))).map(
      (target) => `${privileges.join(', ')} ON ${target}`,
    ),
  );
}

export function clickhouseUsers(users: readonly ProcessUser[], database: string): { name: string; grants: string[] }[] {
  return users.flatMap(({ user, rights }) =>
    rights.clickhouse === null ? [] : [{ name: user, grants: grantsOf(rights.clickhouse, database) }],
  );
}

/** Statements by which an administrator makes these users, after provisioning has made the tables. */
export function clickhouseUserStatements(users: readonly ProcessUser[], database: string): string[] {
  return clickhouseUsers(users, database).flatMap(({ name, grants }) => [
    `CREATE USER IF NOT EXISTS ${name} IDENTIFIED WITH sha256_hash BY 'SHA256_OF_THE_PASSWORD' DEFAULT DATABASE ${database}`,
    `REVOKE ALL ON *.* FROM ${name}`,
    ...grants.map((grant) => `GRANT ${grant} TO ${name}`),
  ]);
}

/** Redis tells reading a key from writing it since 7.0; before that who reads may write as well. */
interface AclDialect {
  tellsReading: boolean;
}

/** What a user may do, as ACL SETUSER and files of users take it. */
function rulesOf({ keys, keysRead = [], commands }: RedisRights, { tellsReading }: AclDialect): string {
  const patterns = [...keys.map((key) => `~${key}`), ...keysRead.map((key) => `${tellsReading ? '%R~' : '~'}${key}`)];
  const allowed = [...REDIS_COMMANDS, ...commands].sort().map((command) => `+${command}`);
  return [...patterns, 'resetchannels', '-@all', ...allowed].join(' ');
}

const withRedis = (users: readonly ProcessUser[]): [user: string, rights: RedisRights][] =>
  users.flatMap(({ user, rights }) => (rights.redis === null ? [] : [[user, rights.redis]]));

/** The commands by which an administrator of Redis makes the users of the processes. */
export function aclUserCommands(users: readonly ProcessUser[]): string[] {
  return withRedis(users).map(
    ([user, rights]) => `ACL SETUSER ${user} reset on >PASSWORD ${rulesOf(rights, { tellsReading: true })}`,
  );
}

/**
 * A file of users: those of the processes, `owner` who may do everything, and nobody without a password. `default` may log in
 * no more but keeps its rights: by them Redis reads its append-only file back, and drops every transaction that they do not
 * allow.
 */
export function aclFile(
  owner: string,
  users: readonly ProcessUser[],
  passwords: Readonly<Record<string, string>>,
  dialect: AclDialect,
): string {
  const digest = (user: string): string => {
    const password = passwords[user];
    if (password === undefined) throw new Error('a user of Redis has no password');
    return `#${hash('sha256', password)}`;
  };
  return [
    'user default off resetpass ~* &* +@all',
    `user ${owner} on ${digest(owner)} ~* &* +@all`,
    ...withRedis(users).map(([user, rights]) => `user ${user} on ${digest(user)} ${rulesOf(rights, dialect)}`),
    '',
  ].join('\n');
}
