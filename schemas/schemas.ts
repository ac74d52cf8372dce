// The schemas by the names that topics have them under.
import { schemaJson } from './avro.ts';
import { eventBatch } from './event.ts';
import * as records from './records.ts';
import { setting } from './setting.ts';
import { type AvroType, avroType } from './wire.ts';

const SCHEMAS = {
  event_batch: eventBatch,
  setting,
  identity_link: records.identityLink,
  quota_usage: records.quotaUsage,
  quota_counts: records.quotaCounts,
  delivery: records.deliveryOutcomes,
  delivery_job: records.deliveryJob,
  dead_letter: records.deadLetter,
  dead_resolution: records.deadResolution,
  replay_progress: records.replayProgress,
  inventory: records.inventory,
  duplicates: records.duplicates,
  data_read: records.dataRead,
  erasure: records.erasure,
  alert_fact: records.alertFact,
};
export type SchemaName = keyof typeof SCHEMAS;

/** The schema's text as registered. */
export const schemaText = (name: SchemaName): string => schemaJson(SCHEMAS[name]);

/** A compiled type of ours. Unions of null and one type are plain nullable values. */
export const schemaType = (name: SchemaName): AvroType => avroType(schemaText(name));
