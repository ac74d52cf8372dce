import { readFileSync } from 'node:fs';
import { Kafka, type LogEntry, logLevel, type SASLOptions } from 'kafkajs';
import type { KafkaConfig } from '#infra/config/service_config.ts';
import type { Logger } from '#infra/log/logger.ts';
import { patchAbortedRecords } from './kafkajs_patches/aborted_records.ts';
import { patchClosingConnection } from './kafkajs_patches/closing_connection.ts';
import { patchCoordinatorCache } from './kafkajs_patches/coordinator_cache.ts';
import { patchEncoderMemory } from './kafkajs_patches/encoder_memory.ts';
import { patchOutOfRange } from './kafkajs_patches/out_of_range.ts';
import { patchQueueTimer } from './kafkajs_patches/queue_timer.ts';
import { patchUnknownPartition } from './kafkajs_patches/unknown_partition.ts';
import { registerZstd } from './producer/compression.ts';

/**
 * Wait before the client's first retry: a transaction that closely follows another gets CONCURRENT_TRANSACTIONS once.
 */
const FIRST_RETRY_MS = 5;
const RETRY_MS_MAX = 1_000;

/** Retries of one request. About 20 s in all; then the caller sees the error. */
const RETRIES = 25;

/** A client of the configured cluster. Nothing is connected yet. */
export function createKafka(config: KafkaConfig, clientId: string, logger: Logger, retries = RETRIES): Kafka {
  registerZstd();
  patchAbortedRecords();
  patchCoordinatorCache();
  patchEncoderMemory();
  patchQueueTimer();
  patchOutOfRange();
  patchClosingConnection();
  patchUnknownPartition();
  return new Kafka({
    clientId,
    brokers: config.brokers,
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: FIRST_RETRY_MS, factor: 0.2, multiplier: 2, maxRetryTime: RETRY_MS_MAX, retries },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => forward(logger, entry),
    ...(config.tls ? { ssl: config.tlsCaFile === null ? true : { ca: [readFileSync(config.tlsCaFile, 'utf8')] } } : {}),
    ...(config.sasl === null ? {} : { sasl: config.sasl as SASLOptions }),
  });
}

/** Of a transaction that follows another one closely: the client asks again, and throws if that goes on. */
const IS_ASKED_AGAIN = /another concurrent operation on the same transaction/;

/** Passes on what the client logs. */
export function forward(logger: Pick<Logger, 'warn' | 'info' | 'debug'>, entry: LogEntry): void {
  const { message, ...fields } = entry.log;
  const facts = { client: entry.namespace, error: fields['error'], groupId: fields['groupId'] };
  if (IS_ASKED_AGAIN.test(String(fields['error']))) logger.debug(facts, message);
  else if (entry.level === logLevel.ERROR) logger.warn(facts, message);
  else if (entry.level === logLevel.WARN) logger.info(facts, message);
  else logger.debug(facts, message);
}
