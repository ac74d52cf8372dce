import { topicsOf } from '#pipelines/delivery/retry_topics.ts';
import type { SchemaName } from '#schemas/schemas.ts';

export interface TopicDeclaration {
  name: string;
  partitions: number;
  /** Compared with what exists and reported or, as `STAMPED_BY`, set; the rest of the broker's settings are the operator's. */
  config: Record<string, string>;
  /** Null: its values are JSON, which only the stages themselves read. */
  schema: SchemaName | null;
}

/**
 * Records are stamped by the broker: by a producer's clock that is days off they would be deleted before they are read, left
 * out of replays and rebuilds, or refused.
 */
export const TIMESTAMP_TYPE = 'message.timestamp.type';
const RECORD_BYTES_MAX = 8 * 1024 * 1024;
const SHARED_CONFIG = { [TIMESTAMP_TYPE]: 'LogAppendTime', 'max.message.bytes': String(RECORD_BYTES_MAX) } as const;

const DAY_MS = 86_400_000;
const DEAD_DAYS = 30;
/**
 * Longer than the dead letters themselves are kept: none of them may be resent twice, or be open again. Kafka deletes a
 * segment when its newest record is old enough, and closes one after a week (segment.ms), so a letter can be there a week
 * longer than its retention.
 */
const RESENT_MARK_DAYS = 40;

export const STAGES = ['dedup', 'quota', 'identity', 'warehouse', 'delivery'] as const;
export type Stage = (typeof STAGES)[number];

export const TOPICS = {
  raw: 'events.raw',
  unique: 'events.unique',
  identified: 'events.identified',
  outcomes: 'delivery.outcomes',
  links: 'identity.links',
  counts: 'quota.counts',
  /** What dedup dropped. */
  duplicates: 'dedup.duplicates',
  usage: 'quota.usage',
  settings: 'site.config',
  /** Every entry of the audit, in the order that they were written in. */
  audit: 'audit',
  /** Who read the data of people: apart, so that many reads push no change out. */
  dataReads: 'audit.reads',
  replays: 'delivery.replays',
  /** Whose events are dropped, and how far their erasure is. */
  erasures: 'person.erasures',
  /** What alerts were judged by, and what fired. */
  alerts: 'alerts',
  inventory: 'inventory',
  /** Events of dead letters that only this stage is to take again. */
  redeliverIdentity: 'again.identity',
  redeliverWarehouse: 'again.warehouse',
  /** Which dead letters were sent in again. */
  resent: 'dead.resent',
  /** With which dead letters somebody is done, and why. */
  resolved: 'dead.resolved',
  /** How far each stage is, by what its transactions committed. */
  stageOffsets: 'stage.offsets',
} as const;

/** Behind the installation's prefix: whoever fills rows in after a restore is its one member. */
export const REFILL_GROUP = 'warehouse.refill';

/** Those that have as many partitions as `EVENT_PARTITIONS` says, in the order of the flow. */
export const EVENT_TOPICS: readonly string[] = [
  TOPICS.raw,
  TOPICS.unique,
  TOPICS.counts,
  TOPICS.duplicates,
  TOPICS.identified,
  TOPICS.outcomes,
  TOPICS.inventory,
];

export function deadTopic(stage: Stage): string {
  return `dead.${stage}`;
}

/** How long the topics that events pass through keep them; nothing can be redelivered or remembered anew for longer. */
export const EVENT_TOPIC_DAYS = 9;

/** What was written over, or erased, is gone by then: a broker's own choice may leave it for years. */
const COMPACTED_SOON = { 'max.compaction.lag.ms': String(EVENT_TOPIC_DAYS * DAY_MS) };

/** Kafka deletes whole segments, which it closes after a week. */
const SEGMENT_DAYS = 7;

/** How many days a record may stand on the topics that events pass through, and on those of dead letters. */
export const EVENT_RECORD_DAYS = EVENT_TOPIC_DAYS + SEGMENT_DAYS;
export const DEAD_LETTER_DAYS = DEAD_DAYS + SEGMENT_DAYS;

/**
 * A topic of a transactional stage's offsets. Read whole when a stage starts: brokers take no smaller segments than of 1 MiB,
 * and compact all but the last of them.
 */
function stageOffsets(name: string): TopicDeclaration {
  const compaction = { 'segment.bytes': String(1024 * 1024), 'min.cleanable.dirty.ratio': '0.2' };
  return {
    name,
    partitions: 1,
    schema: null,
    config: { 'cleanup.policy': 'compact', ...compaction, ...SHARED_CONFIG },
  };
}

export interface TopicCounts {
  /** The unit of parallelism; the same for the events topics. */
  eventPartitions: number;
  /** Of the topics that carry little: retry topics, dead letters, changelogs. */
  smallPartitions: number;
  auditDays: number;
}

const COUNTS: TopicCounts = { eventPartitions: 1, smallPartitions: 2, auditDays: 400 };

/** Every topic of the service that delivers to these destinations; what is not said is as it is without configuration. */
export function declareTopics(destinations: readonly string[], counts: Partial<TopicCounts> = {}): TopicDeclaration[] {
  const { eventPartitions, smallPartitions, auditDays } = { ...COUNTS, ...counts };
  const kept = (name: string, partitions: number, days: number, schema: SchemaName): TopicDeclaration => ({
    ...{ name, partitions, schema },
    config: { 'cleanup.policy': 'delete', 'retention.ms': String(days * DAY_MS), ...SHARED_CONFIG },
  });
  const compacted = (
    name: string,
    partitions: number,
    schema: SchemaName,
    config: Record<string, string> = {},
  ): TopicDeclaration => ({
    ...{ name, partitions, schema },
    config: { 'cleanup.policy': 'compact', ...config, ...SHARED_CONFIG },
  });
  const event = (name: string, schema: SchemaName = 'event_batch'): TopicDeclaration =>
    kept(name, eventPartitions, EVENT_TOPIC_DAYS, schema);
  const small = (name: string, days: number, schema: SchemaName): TopicDeclaration =>
    kept(name, smallPartitions, days, schema);
  return [
    event(TOPICS.raw),
    event(TOPICS.unique),
    event(TOPICS.identified),
    event(TOPICS.outcomes, 'delivery'),
    compacted(TOPICS.links, smallPartitions, 'identity_link', COMPACTED_SOON),
    event(TOPICS.counts, 'quota_counts'),
    event(TOPICS.duplicates, 'duplicates'),
    compacted(TOPICS.usage, smallPartitions, 'quota_usage'),
    compacted(TOPICS.settings, 1, 'setting'),
    kept(TOPICS.audit, 1, auditDays, 'setting'),
    kept(TOPICS.dataReads, 1, auditDays, 'data_read'),
    compacted(TOPICS.replays, 1, 'replay_progress'),
    compacted(TOPICS.erasures, 1, 'erasure', COMPACTED_SOON),
    compacted(TOPICS.alerts, 1, 'alert_fact', COMPACTED_SOON),
    event(TOPICS.inventory, 'inventory'),
    small(TOPICS.redeliverIdentity, EVENT_TOPIC_DAYS, 'event_batch'),
    small(TOPICS.redeliverWarehouse, EVENT_TOPIC_DAYS, 'event_batch'),
    small(TOPICS.resent, RESENT_MARK_DAYS, 'dead_letter'),
    small(TOPICS.resolved, RESENT_MARK_DAYS, 'dead_resolution'),
    stageOffsets(TOPICS.stageOffsets),
    ...STAGES.map((stage) => small(deadTopic(stage), DEAD_DAYS, 'dead_letter')),
    ...destinations.flatMap(topicsOf).map((topic) => small(topic, EVENT_TOPIC_DAYS, 'delivery_job')),
  ];
}
