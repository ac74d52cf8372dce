// The connection to Kafka: the patched client, a process's session, compression, and requests the client has no function for; whether the
// cluster answers, and whether its topics have the partitions that this process is configured for.

import { readFileSync } from 'node:fs';
import kafkajs, { type Admin, Kafka, type LogEntry, logLevel, type SASLOptions } from 'kafkajs';
import { createProbe, type Probe, type ProbeTimes, repeat } from '#infra/concurrency/time_limits.ts';
import type { KafkaConfig } from '#infra/config/service_config.ts';
import type { Logger } from '#infra/log/logger.ts';
import { internal, once, patchClient } from './kafkajs_patches/client_patches.ts';
import { clusterMakerOf, passRetries } from './kafkajs_patches/clusters.ts';
import { patchOutOfRange } from './kafkajs_patches/group_patches.ts';
import { prefixNames } from './kafkajs_patches/namespace.ts';
import type { FetchedRecord } from './offset_log.ts';
import type { TopicDeclaration } from './topics.ts';
import { COMPRESSION, compressZstd, decompressZstd } from './zstd.ts';

/**
 * Wait before the client's first retry: a transaction that closely follows another gets CONCURRENT_TRANSACTIONS once.
 */
const FIRST_RETRY_MS = 5;
const RETRY_MS_MAX = 1_000;

/** Retries of one request. About 20 s in all; then the caller sees the error. */
const RETRIES = 25;
/**
 * Of a transactional producer that begins, or commits offsets: nine seconds, whoever asks. Shorter than members of a group wait for each
 * other (`DRAIN_MS`), so that one that gives partitions away does not fence the one that has them by then.
 */
const TRANSACTION_RETRIES = 16;

/** A client of the configured cluster. Nothing is connected yet. */
export function createKafka(config: KafkaConfig, clientId: string, logger: Logger, retries = RETRIES): Kafka {
  registerZstd();
  patchClient();
  patchOutOfRange();
  const retry = { initialRetryTime: FIRST_RETRY_MS, factor: 0.2, multiplier: 2, maxRetryTime: RETRY_MS_MAX, retries };
  const kafka = new Kafka({
    clientId,
    brokers: config.brokers,
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => forward(logger, entry),
    ...(config.tls ? { ssl: config.tlsCaFile === null ? true : { ca: [readFileSync(config.tlsCaFile, 'utf8')] } } : {}),
    ...(config.sasl === null ? {} : { sasl: config.sasl as SASLOptions }),
  });
  passRetries(kafka, { ...retry, retries: TRANSACTION_RETRIES });
  prefixNames(kafka, config.topicPrefix ?? '');
  return kafka;
}

/** Of a transaction that follows another one closely: the client asks again, and throws if that goes on. */
const IS_ASKED_AGAIN = /another concurrent operation on the same transaction/;

export function forward(logger: Pick<Logger, 'warn' | 'info' | 'debug'>, entry: LogEntry): void {
  const { message, ...fields } = entry.log;
  const facts = { client: entry.namespace, error: fields['error'], groupId: fields['groupId'] };
  if (IS_ASKED_AGAIN.test(String(fields['error']))) logger.debug(facts, message);
  else if (entry.level === logLevel.ERROR) logger.warn(facts, message);
  else if (entry.level === logLevel.WARN) logger.info(facts, message);
  else logger.debug(facts, message);
}

export type { Admin, Kafka };

/** What a process needs to talk to Kafka: a client, and a connected admin for offsets. */
export type KafkaSession = Awaited<ReturnType<typeof openKafka>>;

export async function openKafka(config: KafkaConfig, clientId: string, logger: Logger) {
  const kafka = createKafka(config, clientId, logger);
  const admin = kafka.admin();
  await connected(admin);
  return {
    kafka,
    admin,
    config,
    /** Group id of a stage, with the installation's prefix. */
    groupOf: (stage: string): string => `${config.prefix}.${stage}`,
    stop: (): Promise<void> => admin.disconnect(),
  };
}

/** Whether the brokers refuse what this client has no right to. */
export const isNotAuthorized = (error: unknown): boolean =>
  String((error as { type?: unknown }).type).endsWith('AUTHORIZATION_FAILED');

/** The brokers let this client not in, for a reason that passes only when somebody changes a setting. */
class KafkaLoginError extends Error {
  readonly code: 'kafka_login_refused' | 'kafka_certificate_untrusted' | 'kafka_not_tls';
  readonly recovery = 'stop';

  constructor(code: KafkaLoginError['code'], message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const UNTRUSTED = /CERT|UNABLE_TO_VERIFY|ALTNAME/;
/** Node's words; Kafka takes the greeting for a request that is too long. */
const HUNG_UP = /disconnected before secure TLS connection/;

/** What is wrong with a login or a certificate, where that is why there is no connection; else the error as it is. */
function explainLogin(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { name, code, message } = cause as Error & { code?: unknown };
    if (name === 'KafkaJSSASLAuthenticationError') {
      return new KafkaLoginError(
        'kafka_login_refused',
        `the brokers refuse KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD or KAFKA_SASL_MECHANISM: ${message}`,
        error,
      );
    }
    if (typeof code === 'string' && UNTRUSTED.test(code)) {
      const why = "the brokers' certificate is not trusted (KAFKA_TLS_CA_FILE, names in KAFKA_BROKERS)";
      return new KafkaLoginError('kafka_certificate_untrusted', `${why}: ${message}`, error);
    }
    if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER' || HUNG_UP.test(message)) {
      const why = 'KAFKA_TLS is true, and the brokers end the handshake, as those do that speak no TLS';
      return new KafkaLoginError('kafka_not_tls', `${why}: ${message}`, error);
    }
  }
  return error;
}

/** @throws KafkaLoginError */
async function connected(admin: Admin): Promise<void> {
  await admin.connect().catch((error: unknown) => Promise.reject(explainLogin(error)));
}

export async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await connected(admin);
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** How many members a group has, which is named as behind the installation's prefix. */
export async function membersIn(
  { admin, groupOf }: Pick<KafkaSession, 'admin' | 'groupOf'>,
  group: string,
): Promise<number> {
  const { groups } = await admin.describeGroups([groupOf(group)]);
  return groups[0]?.members.length ?? 0;
}

/**
 * Registers zstd with the client, which brings gzip only. Every consumer of zstd topics needs it; brokers since 2.1 and
 * all common clients read it.
 */
export const registerZstd = once(() => {
  kafkajs.CompressionCodecs[COMPRESSION] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => compressZstd(buffer),
    decompress: async (buffer: Buffer) => decompressZstd(buffer),
  });
});

/** What a broker of the client takes (kafkajs 2.2.4). */
interface Broker {
  versions: Readonly<Record<number, { maxVersion: number }>>;
  connectionPool: { send<Answer = string>(exchange: { request: object; response: object }): Promise<Answer> };
  fetch(request: {
    replicaId: number;
    isolationLevel: number;
    maxWaitTime: number;
    minBytes: number;
    maxBytes: number;
    topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
  }): Promise<{ responses: { partitions: { highWatermark: string; messages: FetchedRecord[] }[] }[] }>;
}

/** Connections to the brokers for requests that the client has no function for. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  fetchTopicsOffset(
    of: { topic: string; partitions: { partition: number }[]; fromBeginning: boolean }[],
  ): Promise<{ partitions: { offset: string }[] }[]>;
  /** By the id of a broker the partitions that it leads. */
  findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
  findBroker(of: { nodeId: string }): Promise<Broker>;
  findControllerBroker(): Promise<Broker>;
}

const METADATA_AGE_MS = 300_000;

/** Opens one. The client makes one for each consumer, producer and admin, and hands none out. */
export async function openCluster(kafka: Kafka): Promise<Cluster> {
  const { make } = clusterMakerOf<Cluster>(kafka);
  const cluster = make({ metadataMaxAge: METADATA_AGE_MS, allowAutoTopicCreation: false });
  await cluster.connect();
  return cluster;
}

/** Reads an answer of a broker. */
export interface Decoder {
  readInt8(): number;
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readUVarInt(): number;
  readUVarIntString(): string | null;
  readTaggedFields(): unknown;
  offset: number;
  buffer: Buffer;
}

const Encoder = internal<new () => { writeBuffer(buffer: Buffer): unknown }>('protocol/encoder.js');
const DecoderOfClient = internal<new (buffer: Buffer) => Decoder>('protocol/decoder.js');

/** How many items or bytes follow, as flexible versions write it; a text has its bytes behind it. */
export function countOf(count: number): Buffer {
  const bytes: number[] = [];
  let left = count + 1;
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
  return Buffer.of(...bytes, left);
}
export const bytesOf = (bytes: Buffer): Buffer => Buffer.concat([countOf(bytes.length), bytes]);
export const textOf = (text: string): Buffer => bytesOf(Buffer.from(text));

/** A request of a flexible version (KIP-482); `body` is all of it behind the header's tagged fields. */
export const requestOf = <T>(
  apiName: string,
  { key: apiKey, version: apiVersion }: { key: number; version: number },
  body: Buffer,
  read: (from: Decoder) => T,
) => ({
  request: {
    ...{ apiKey, apiVersion, apiName },
    encode: async () => new Encoder().writeBuffer(Buffer.concat([Buffer.of(0), body])),
  },
  response: {
    decode: async (bytes: Buffer) => read(new DecoderOfClient(bytes)),
    parse: async (found: T) => found,
  },
});

const PROBE: ProbeTimes = { intervalMs: 2_000, answerMsMax: 3_000, giveUpMs: 60_000 };

export async function openAdmin(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin();
  await admin.connect();
  return admin;
}

/**
 * Probes the cluster. A client that hangs is replaced by another, so that one request without an answer does not make the
 * cluster count as away for ever.
 */
export function watchCluster(open: () => Promise<Pick<Admin, 'describeCluster' | 'disconnect'>>): Probe {
  let admin: ReturnType<typeof open> | null = null;
  const describe = async (): Promise<void> => {
    admin ??= open();
    await (await admin).describeCluster();
  };
  const close = (): void => {
    // A client that hangs, or was never opened, is not waited for.
    void admin?.then((one) => one.disconnect()).catch(() => undefined);
    admin = null;
  };
  return createProbe(describe, PROBE, { onFailure: close, onStop: close });
}

const LOOK_MS = 10_000;

interface PartitionMismatch {
  topic: string;
  configured: number;
  found: number;
}

/** Topics that are there with another number of partitions than declared. Those that are not there are provisioning's matter. */
export function mismatchesOf(
  declared: readonly Pick<TopicDeclaration, 'name' | 'partitions'>[],
  found: ReadonlyMap<string, number>,
): PartitionMismatch[] {
  return declared.flatMap(({ name: topic, partitions: configured }) => {
    const count = found.get(topic) ?? configured;
    return count === configured ? [] : [{ topic, configured, found: count }];
  });
}

/**
 * Compares the topics' partitions with the configured ones, now and every ten seconds, and logs what differs whenever that changes.
 * More than configured is logged alone: all of them are read, and a process that is configured for fewer loses nothing, so that
 * partitions can be added while the service runs. While Kafka does not answer the last answer counts.
 */
export async function watchPartitions(
  admin: Pick<Admin, 'fetchTopicMetadata'>,
  declared: readonly Pick<TopicDeclaration, 'name' | 'partitions'>[],
  logger: Pick<Logger, 'error' | 'info'>,
  lookMs = LOOK_MS,
) {
  let mismatches: PartitionMismatch[] = [];

  async function look(): Promise<void> {
    const { topics } = await admin.fetchTopicMetadata();
    const found = mismatchesOf(declared, new Map(topics.map(({ name, partitions }) => [name, partitions.length])));
    const isNew = JSON.stringify(found) !== JSON.stringify(mismatches);
    mismatches = found;
    if (!isNew) return;
    if (found.length === 0) logger.info('all topics have the configured partitions again');
    else logger.error({ mismatches: found }, 'topics have other partitions than configured: see EVENT_PARTITIONS');
  }

  const tell = (error: unknown): void => logger.info({ err: error }, 'partition counts of topics unavailable');
  await look().catch(tell);
  return {
    /** What differs, more partitions as well. */
    mismatches: (): readonly PartitionMismatch[] => mismatches,
    /** Topics with fewer partitions than this process writes to: what it chooses the others for cannot be stored. */
    lacking: (): readonly PartitionMismatch[] => mismatches.filter(({ configured, found }) => found < configured),
    stop: repeat(look, () => lookMs, tell),
  };
}
