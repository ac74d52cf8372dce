// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is source text.

/** A fault that is planted in the sources, and the tests that must fail by it. */
export interface Mutant {
  name: string;
  path: string;
  /** Stands once in the file. */
  before: string;
  after: string;
  /** As `npm test -- PATH…` takes them. */
  tests: readonly string[];
}

/** Faults of the kinds that lose, double, leak or miscount. All but the last are found by the default run, that one by `npm run test:kill`. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a claim that is answered and not written',
    path: 'infra/redis/indexes/claim_buckets.lua',
    before: "if redis.call('HSETNX', key, field, value) == 1 then return false end",
    after: "if redis.call('HEXISTS', key, field) == 0 then return false end",
    tests: ['test/integration/redis/claims.test.ts'],
  },
  {
    name: 'an offset that is committed before its block is inserted',
    path: 'infra/kafka/block_sink.ts',
    before: '      await this.announce(topic, plan);',
    after: '      await this.commit(topic, parts);',
    tests: ['test/integration/kafka/sink.test.ts'],
  },
  {
    name: 'a transaction without its offsets',
    path: 'infra/kafka/transactional_stage.ts',
    before: '    await beginWithOffsets(transaction, options.groupId, parts);',
    after: '    await beginWithOffsets(transaction, options.groupId, parts.slice(0, 0));',
    tests: ['test/integration/kafka/transactional_stage.test.ts'],
  },
  {
    name: 'a block without a token that names its place',
    path: 'pipelines/warehouse/block.ts',
    before: "export function dedupToken(topic: string, plan: BlockPlan, log = ''): string {",
    after:
      "export function dedupToken(topic: string, plan: BlockPlan, log = ''): string {\n  if (topic !== '') return `${topic}${performance.now()}`;",
    tests: ['test/unit/warehouse', 'test/unit/simulation'],
  },
  {
    name: 'a permission that nobody asks for',
    path: 'services/control/auth.ts',
    before: "return lacked === null ? still : { ok: false, code: 'permission_missing', place: lacked.place };",
    after: 'return lacked === null ? still : still;',
    tests: ['test/unit/control'],
  },
  {
    name: 'a filter that is negated',
    path: 'pipelines/analytics/sql/expressions.ts',
    before: "above: '>', at_least: '>=',",
    after: "above: '<=', at_least: '>=',",
    tests: ['test/integration/query/worlds', 'test/integration/query/sequence', 'test/integration/query/trends'],
  },
  {
    name: 'days that are UTC days, whatever the zone',
    path: 'pipelines/analytics/sql/event_rows.ts',
    before: 'day: (time, zone) => `toStartOfDay(${time}, ${zone})`,',
    after: "day: (time, zone) => `toStartOfDay(${time}, if(${zone} = '', 'UTC', 'UTC'))`,",
    tests: ['test/integration/query/trends', 'test/integration/query/worlds'],
  },
  {
    name: 'a time of comparison that ignores the change of clocks',
    path: 'pipelines/analytics/sql/event_rows.ts',
    before: '(toTimeZone(${binder.time(ms)}, ${zone}), -${count})',
    after: "(toTimeZone(${binder.time(ms)}, if(${zone} = '', 'UTC', 'UTC')), -${count})",
    tests: ['test/integration/query/trends', 'test/integration/query/worlds'],
  },
  {
    name: 'the hash of an e-mail address that was not trimmed',
    path: 'pipelines/privacy/normalise_text.ts',
    before: '.trim()',
    after: '',
    tests: ['test/unit/privacy', 'test/unit/intake'],
  },
  {
    name: 'retries without an end',
    path: 'pipelines/delivery/retry_topics.ts',
    before: 'if (dueAtMs - firstAttemptedAtMs > RETRY_AGE_MAX_MS)',
    after: 'if (dueAtMs - firstAttemptedAtMs > Number.MAX_SAFE_INTEGER)',
    tests: ['test/unit/delivery'],
  },
  {
    name: 'an allowance with twice its grace',
    path: 'pipelines/quota/limits.ts',
    before: 'return monthlyAllowance + Math.floor(monthlyAllowance / 5);',
    after: 'return monthlyAllowance + Math.floor(monthlyAllowance / 2.5);',
    tests: ['test/unit/quota', 'test/unit/edge', 'test/e2e/4_1_quota.test.ts'],
  },
  {
    name: 'a settlement that counts a range twice',
    path: 'infra/redis/quota/settle.lua',
    before: 'local fresh = next_offset > settled',
    after: 'local fresh = true',
    tests: ['test/integration/redis/quota.test.ts'],
  },
  {
    name: 'a batch of 51 events',
    path: 'services/edge/ingest_service.ts',
    before: 'EVENTS_MAX = 50',
    after: 'EVENTS_MAX = 51',
    tests: ['test/unit/intake', 'test/unit/edge', 'test/e2e/8_limits.test.ts'],
  },
  {
    name: 'an acknowledgement without waiting for Kafka',
    path: 'infra/kafka/sender.ts',
    before: 'acks: -1',
    after: 'acks: 0',
    tests: ['test/kill/kafka/sender_broker_stalled.test.ts'],
  },
  {
    name: 'a key taken after it has expired',
    path: 'services/edge/auth.ts',
    before: 'pageOrigin(request), nowMs)',
    after: 'pageOrigin(request), 0 * nowMs)',
    tests: ['test/unit/edge/dead_keys'],
  },
  {
    name: 'events tried again before their Retry-After',
    path: 'services/delivery/output.ts',
    before: 'job.dueAtMs = Math.max(job.dueAtMs, choice.dueAtMs);',
    after: 'job.dueAtMs = Math.min(job.dueAtMs, choice.dueAtMs);',
    tests: ['test/unit/delivery/output'],
  },
  {
    name: 'a record that cannot be read passed without a letter',
    path: 'services/quota/settlement.ts',
    before: "      read.dead.push(createDeadLetter(place, decoded.reason, '', value, nowMs));",
    after: "      void createDeadLetter(place, decoded.reason, '', value, nowMs);",
    tests: ['test/unit/quota/read_counts'],
  },
];
