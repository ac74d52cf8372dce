import type { IHeaders, KafkaMessage } from 'kafkajs';

export interface InRecord {
  offset: number;
  /** When the broker or producer stamped it; milliseconds since 1970 UTC. */
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: IHeaders;
}

/** A record to be written, to a partition that we chose. */
export interface OutRecord {
  topic: string;
  partition: number;
  key?: string;
  value: Buffer;
  headers?: Record<string, string>;
}

export function toInRecord(message: KafkaMessage): InRecord {
  return {
    offset: Number(message.offset),
    timestampMs: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: message.headers ?? {},
  };
}
