import type { Admin, Kafka } from 'kafkajs';
import type { KafkaConfig } from '#infra/config/service_config.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createKafka } from './client.ts';

export type { Admin, Kafka };

/** What a process needs to talk to Kafka: a client, and a connected admin for offsets. */
export interface KafkaSession {
  kafka: Kafka;
  admin: Admin;
  config: KafkaConfig;
  /** Group id of a stage, with the installation's prefix. */
  groupOf(stage: string): string;
  stop(): Promise<void>;
}

export async function openKafka(config: KafkaConfig, clientId: string, logger: Logger): Promise<KafkaSession> {
  const kafka = createKafka(config, clientId, logger);
  const admin = kafka.admin();
  await admin.connect();
  return {
    kafka,
    admin,
    config,
    groupOf: (stage) => `${config.prefix}.${stage}`,
    stop: () => admin.disconnect(),
  };
}
