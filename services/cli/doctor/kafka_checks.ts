// What is to be said of a Kafka cluster and of a schema registry, of what they say of themselves.
import type { KafkaFacts, TopicFacts } from '#infra/kafka/inspect.ts';
import type { TopicDeclaration } from '#infra/kafka/topics.ts';
import { type RegistryFacts, SUBJECT_COMPATIBILITY } from '#infra/registry/schema_registry.ts';
import { type CheckResult, clockCheck, diskCheck, failure, listed, OPERATIONS, ok, unread, warning } from './doctor.ts';

export interface ExpectedTopics {
  declared: readonly TopicDeclaration[];
  /** `EVENT_PARTITIONS`; null: it is not set, and the topics have to agree with each other alone. */
  eventPartitions: number | null;
  /** `KAFKA_REPLICATION_FACTOR` */
  copies: number;
}

type Topics = readonly (readonly [name: string, facts: TopicFacts])[];

/** Levels of `metadata.version` of Kafka 4.3, of which 4.3.0 and 4.3.1 break transactions (decision 15). */
const LEVEL_4_3 = 30;
const PROVISION = `run node services/provision/main.ts: ${OPERATIONS}#mismatch-lines`;
const ALTER = `alter the topics (kafka-configs.sh): ${OPERATIONS}#mismatch-lines`;
const SEGMENT_MS = 7 * 86_400_000;
const MINUTE_MS = 60_000;

export function kafkaChecks(facts: KafkaFacts, expected: ExpectedTopics): CheckResult[] {
  const topics: Topics = expected.declared.flatMap(({ name }) => {
    const found = facts.topics.get(name);
    return found === undefined ? [] : [[name, found] as const];
  });
  return [
    ok(
      'kafka.reachable',
      `Kafka answers: ${facts.brokers.length} ${facts.brokers.length === 1 ? 'broker' : 'brokers'}`,
    ),
    versionCheck(facts),
    missingCheck(facts, expected),
    partitionsCheck(topics, expected),
    copiesCheck(topics, facts, expected),
    inSyncCheck(topics, facts),
    healthCheck(topics),
    electionCheck(topics),
    ...settingChecks(topics, expected),
    offsetsCheck(topics, facts),
    ...brokerChecks(facts),
    aclCheck(facts),
    ...facts.disks.map(({ broker, folder, freeBytes, totalBytes }) =>
      diskCheck('kafka.disk', `disk of broker ${broker} (${folder})`, freeBytes, totalBytes),
    ),
  ];
}

function versionCheck({ levelMax }: KafkaFacts): CheckResult {
  const check = 'kafka.version';
  if (levelMax === null)
    return warning(check, 'Kafka does not say its version', `use 4.2.1: ${OPERATIONS}#versions-of-kafka`);
  if (levelMax < LEVEL_4_3) return ok(check, 'Kafka is older than 4.3');
  const says = 'Kafka is 4.3 or later; with 4.3.0 and 4.3.1 events may be lost or doubled';
  return warning(check, says, `use 4.2.1, or make sure that it is 4.3.2 or later: ${OPERATIONS}#versions-of-kafka`);
}

function missingCheck({ topics }: KafkaFacts, { declared }: ExpectedTopics): CheckResult {
  const missing = declared.map(({ name }) => name).filter((name) => !topics.has(name));
  return missing.length === 0
    ? ok('kafka.topics', `all ${declared.length} topics are there`)
    : failure('kafka.topics', `topics are missing: ${listed(missing)}`, PROVISION);
}

function partitionsCheck(topics: Topics, { declared, eventPartitions }: ExpectedTopics): CheckResult {
  const check = 'kafka.partitions';
  const wanted = new Map(declared.map(({ name, partitions }) => [name, partitions]));
  const off = topics.filter(([name, { partitions }]) => partitions !== wanted.get(name));
  if (off.length === 0) {
    return ok(
      check,
      `topics have as many partitions as ${eventPartitions === null ? 'each other' : 'EVENT_PARTITIONS says'}`,
    );
  }
  const says = off.map(([name, { partitions }]) => `${name} has ${partitions} partitions, not ${wanted.get(name)}`);
  return failure(
    check,
    listed(says),
    `set EVENT_PARTITIONS alike everywhere, or add partitions: ${OPERATIONS}#mismatch-lines`,
  );
}

function copiesCheck(topics: Topics, { brokers }: KafkaFacts, { copies }: ExpectedTopics): CheckResult {
  const check = 'kafka.replication';
  const fewest = Math.min(...topics.map(([, one]) => one.copies));
  if (topics.length === 0) return ok(check, 'there are no topics yet');
  const few = topics.filter(([, one]) => one.copies === fewest).map(([name]) => name);
  const todo = 'three brokers and KAFKA_REPLICATION_FACTOR=3 before provisioning; else kafka-reassign-partitions.sh';
  if (fewest < Math.min(copies, brokers.length)) {
    return failure(check, `${listed(few)} have ${fewest} replicas, KAFKA_REPLICATION_FACTOR is ${copies}`, todo);
  }
  if (fewest >= 3) return ok(check, `each record has ${fewest} replicas`);
  return warning(
    check,
    `records have ${fewest} ${fewest === 1 ? 'replica' : 'replicas'}: accepted events are lost with a disk`,
    todo,
  );
}

function inSyncCheck(topics: Topics, { brokers }: KafkaFacts): CheckResult {
  const check = 'kafka.min_insync_replicas';
  const known = topics.flatMap(([name, { copies, settings }]) => {
    const minimum = Number(settings['min.insync.replicas'] ?? Number.NaN);
    return Number.isNaN(minimum) ? [] : [{ name, copies, minimum }];
  });
  if (known.length < topics.length) return unread(check, 'min.insync.replicas', 'grant DescribeConfigs on the topics');
  const namesOf = (some: typeof known): string => listed(some.map(({ name }) => name));
  const stuck = known.filter(({ copies, minimum }) => minimum > copies);
  if (stuck.length > 0) {
    return failure(check, `${namesOf(stuck)}: min.insync.replicas exceeds the replicas: nothing can be written`, ALTER);
  }
  const single = known.filter(({ copies, minimum }) => copies >= 3 && minimum < 2);
  if (single.length > 0) {
    const says = `${namesOf(single)}: min.insync.replicas is 1: records that a single broker holds are acknowledged`;
    return failure(check, says, 'set min.insync.replicas=2 on the topics');
  }
  const tight = known.filter(({ copies, minimum }) => copies > 1 && minimum === copies);
  if (tight.length > 0) {
    return warning(
      check,
      `${namesOf(tight)}: nothing can be written while one broker is down`,
      'have more copies, or 2',
    );
  }
  return ok(
    check,
    brokers.length === 1 ? 'one broker acknowledges' : 'records are acknowledged by more than one broker',
  );
}

function healthCheck(topics: Topics): CheckResult {
  const check = 'kafka.replicas';
  const led = topics.filter(([, { leaderless }]) => leaderless > 0).map(([name]) => name);
  if (led.length > 0)
    return failure(check, `partitions have no leader: ${listed(led)}`, 'start the brokers that are down');
  const behind = topics.filter((one) => one[1].behind > 0).map(([name]) => name);
  if (behind.length === 0) return ok(check, 'all copies are in step');
  return warning(
    check,
    `replicas are out of sync: ${listed(behind)}`,
    'look at the brokers that are down or slow, at their disks',
  );
}

function electionCheck(topics: Topics): CheckResult {
  const check = 'kafka.unclean_leader_election';
  const unclean = topics.filter(([, { settings }]) => settings['unclean.leader.election.enable'] === 'true');
  return unclean.length === 0
    ? ok(check, 'out-of-sync replicas cannot become leader')
    : failure(check, `out-of-sync replicas may become leader: ${listed(unclean.map(([name]) => name))}`, ALTER);
}

/** Of settings that topics are declared with: what loses events where it differs, and what only differs. */
function settingChecks(topics: Topics, { declared }: ExpectedTopics): CheckResult[] {
  const differing = (setting: string, isBad: (found: string, wanted: string) => boolean): string[] =>
    topics.flatMap(([name, { settings }]) => {
      const wanted = declared.find((one) => one.name === name)?.config[setting];
      const found = settings[setting];
      if (wanted === undefined || found === undefined || !isBad(found, wanted)) return [];
      return [`${name} has ${found}, not ${wanted}`];
    });
  const check = (setting: string, name: string, well: string, isBad: (found: string, wanted: string) => boolean) => {
    const off = differing(setting, isBad);
    return off.length === 0 ? ok(name, well) : failure(name, `${setting}: ${listed(off)}`, ALTER);
  };
  const lasts = (ms: string): number => (ms === '-1' ? Number.POSITIVE_INFINITY : Number(ms));
  return [
    check(
      'cleanup.policy',
      'kafka.cleanup_policy',
      'topics are cleaned up as declared',
      (found, wanted) => found !== wanted,
    ),
    check(
      'retention.ms',
      'kafka.retention',
      'topics are kept as long as declared, or longer',
      (found, wanted) => lasts(found) < lasts(wanted),
    ),
    check(
      'max.message.bytes',
      'kafka.message_size',
      'topics accept records of 8 MiB',
      (found, wanted) => Number(found) < Number(wanted),
    ),
    check(
      'message.timestamp.type',
      'kafka.timestamps',
      'brokers stamp the records',
      (found, wanted) => found !== wanted,
    ),
  ];
}

/** Offsets that are forgotten before the records are: a stage that was away begins anew with what it has done. */
function offsetsCheck(topics: Topics, { brokerSettings }: KafkaFacts): CheckResult {
  const check = 'kafka.offsets_retention';
  const todo = 'raise offsets.retention.minutes on the brokers';
  const minutes = valuesOf(brokerSettings, 'offsets.retention.minutes').map(Number);
  if (minutes.length === 0) return unread(check, 'offsets.retention.minutes', todo);
  const kept = topics.flatMap(([name, { settings }]) => {
    const ms = Number(settings['retention.ms'] ?? 0);
    return settings['cleanup.policy'] === 'delete' && name.startsWith('events.') ? [ms] : [];
  });
  const [least, longestMs] = [Math.min(...minutes), Math.max(0, ...kept)];
  const days = (ms: number): string => (ms / 86_400_000).toFixed(1).replace(/\.0$/, '');
  const says = `offsets are kept for ${days(least * MINUTE_MS)} days, events for ${days(longestMs)}`;
  return least * MINUTE_MS >= longestMs + SEGMENT_MS
    ? ok(check, says)
    : failure(check, `${says} and a segment of 7: a stage that was down for longer starts over`, todo);
}

const RECORD_BYTES = 8 * 1024 * 1024;

function brokerChecks({ brokers, brokerSettings }: KafkaFacts): CheckResult[] {
  if (brokerSettings === null) {
    return [unread('kafka.brokers', 'settings of the brokers', 'grant DescribeConfigs on the cluster to look at them')];
  }
  const lowest = (setting: string): number => Math.min(...valuesOf(brokerSettings, setting).map(Number));
  const enough = Math.min(3, brokers.length);
  const internal = ['offsets.topic.replication.factor', 'transaction.state.log.replication.factor'].filter(
    (setting) => lowest(setting) < enough,
  );
  const creates = valuesOf(brokerSettings, 'auto.create.topics.enable').includes('true');
  return [
    internal.length === 0
      ? ok('kafka.internal_topics', 'offsets and transactions are replicated across the brokers')
      : failure(
          'kafka.internal_topics',
          `${internal.join(', ')}: fewer replicas than brokers: lost with a single broker`,
          `have ${enough} (kafka-reassign-partitions.sh)`,
        ),
    lowest('replica.fetch.max.bytes') < RECORD_BYTES && brokers.length > 1
      ? warning('kafka.replica_fetch', 'replica.fetch.max.bytes is below 8 MiB', 'set 8388608 on the brokers')
      : ok('kafka.replica_fetch', 'replicas fetch up to 8 MiB at once'),
    creates
      ? warning(
          'kafka.auto_create',
          'brokers auto-create topics, with default settings',
          'set auto.create.topics.enable=false',
        )
      : ok('kafka.auto_create', 'brokers do not auto-create topics'),
  ];
}

const valuesOf = (settings: KafkaFacts['brokerSettings'], name: string): string[] =>
  [...(settings?.values() ?? [])].flatMap((one) => one[name] ?? []);

function aclCheck({ acls }: KafkaFacts): CheckResult {
  const check = 'kafka.acls';
  const todo = `give each process its rights: ${OPERATIONS}#rights-of-the-processes`;
  if (acls === 'off') return warning(check, 'the brokers have no authorizer: any client may do anything', todo);
  if (acls === 'refused')
    return unread(check, 'rights at the brokers', 'grant Describe on the cluster to look at them');
  const lacking = [...acls].filter(([, count]) => count > 0).map(([user, count]) => `${user} (${count})`);
  if (lacking.length > 0) return failure(check, `users lack rights: ${listed(lacking)}`, todo);
  return acls.size === 0
    ? warning(check, 'no process has a user of its own', todo)
    : ok(check, `${acls.size} users have the rights of their processes`);
}

const WANTED: string = SUBJECT_COMPATIBILITY;
/** An answer tells the time to the second, as it was when the answer was begun. */
const SECOND_MS = 2_000;

export function registryChecks({ subjects, missing, aheadMs }: RegistryFacts): CheckResult[] {
  const of = (wanted: (level: string | null) => boolean): string[] =>
    [...subjects].flatMap(([topic, level]) => (wanted(level) ? [topic] : []));
  const free = of((level) => level === 'NONE');
  const others = of((level) => level !== WANTED && level !== 'NONE');
  return [
    ok('registry.reachable', 'the registry answers'),
    ...(aheadMs === null ? [] : [clockCheck('registry.clock', 'the registry', aheadMs, SECOND_MS)]),
    missing.length === 0
      ? ok('registry.schemas', `the schemas of ${subjects.size} topics are registered`)
      : failure(
          'registry.schemas',
          `schemas are not registered: ${listed(missing)}`,
          'run node services/provision/main.ts',
        ),
    free.length > 0
      ? failure('registry.compatibility', `compatibility is NONE: ${listed(free)}`, `set ${WANTED} for these subjects`)
      : others.length > 0
        ? warning(
            'registry.compatibility',
            `compatibility is not ${WANTED}: ${listed(others)}`,
            'set it, or provisioning refuses the next schema',
          )
        : ok('registry.compatibility', `subjects are ${WANTED}`),
  ];
}
