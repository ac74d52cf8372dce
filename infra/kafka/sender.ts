import type { Kafka, Producer } from 'kafkajs';
import { chosenPartition } from './chosen_partition.ts';
import { COMPRESSION } from './compression.ts';

export interface SenderOptions {
  kafka: Kafka;
  topic: string;
  /** Bytes of one produce request at the most. */
  requestBytesMax: number;
  /** Bytes queued and in flight over all partitions at the most. */
  queuedBytesMax: number;
  /** Longest a record waits for its acknowledgement. */
  deadlineMs: number;
  /** Called when every in-flight record was acknowledged or refused and the producer failed for good. */
  nowMs(): number;
}

export type SendRefusal = { code: 'queue_full' | 'not_acknowledged' };
export type SendResult = { ok: true } | ({ ok: false } & SendRefusal);

/** Appends single records to partitions of one topic, acknowledged by all in-sync replicas. */
export interface PartitionSender {
  /** Resolves when Kafka holds the record, or when it cannot be said that it does. Never rejects. */
  send(partition: number, value: Buffer): Promise<SendResult>;
  /** Bytes queued and in flight now. */
  queuedBytes(): number;
  /** How long the oldest waiting record has waited. */
  oldestMs(): number;
  stop(): Promise<void>;
}

interface Waiting {
  value: Buffer;
  since: number;
  settle(result: SendResult): void;
}

interface Lane {
  waiting: Waiting[];
  inFlight: boolean;
}

/**
 * One produce request a partition is in flight at a time; what arrives meanwhile goes together in the next one. At rest
 * a record goes at once, under load requests grow by themselves. A request never spans partitions: kafkajs can report
 * a partition as written that it never wrote when a leader moves during such a request.
 */
export async function createSender(options: SenderOptions): Promise<PartitionSender> {
  const producer = options.kafka.producer({ allowAutoTopicCreation: false, createPartitioner: chosenPartition });
  await producer.connect();
  const lanes = new Map<number, Lane>();
  let queued = 0;

  function laneOf(partition: number): Lane {
    let lane = lanes.get(partition);
    if (lane === undefined) {
      lane = { waiting: [], inFlight: false };
      lanes.set(partition, lane);
    }
    return lane;
  }

  function settleAll(batch: readonly Waiting[], result: SendResult): void {
    for (const entry of batch) {
      queued -= entry.value.length;
      entry.settle(result);
    }
  }

  async function pump(partition: number, lane: Lane): Promise<void> {
    lane.inFlight = true;
    while (lane.waiting.length > 0) {
      const batch = takeBatch(lane, options.requestBytesMax);
      settleAll(batch, await produce(producer, options, partition, batch));
      expire(lane, options, settleAll);
    }
    lane.inFlight = false;
  }

  return {
    send(partition, value) {
      if (queued + value.length > options.queuedBytesMax) return Promise.resolve({ ok: false, code: 'queue_full' });
      queued += value.length;
      const lane = laneOf(partition);
      return new Promise<SendResult>((settle) => {
        lane.waiting.push({ value, since: options.nowMs(), settle });
        if (!lane.inFlight) void pump(partition, lane);
      });
    },
    queuedBytes: () => queued,
    oldestMs() {
      const since = [...lanes.values()].map((lane) => lane.waiting[0]?.since ?? Number.POSITIVE_INFINITY);
      return Math.max(0, options.nowMs() - Math.min(...since, options.nowMs()));
    },
    stop: () => producer.disconnect(),
  };
}

/** Takes from the front as much as one request may hold, at least one record. */
function takeBatch(lane: Lane, bytesMax: number): Waiting[] {
  let bytes = 0;
  let count = 0;
  for (const { value } of lane.waiting) {
    if (count > 0 && bytes + value.length > bytesMax) break;
    bytes += value.length;
    count++;
  }
  return lane.waiting.splice(0, count);
}

async function produce(
  producer: Producer,
  options: SenderOptions,
  partition: number,
  batch: readonly Waiting[],
): Promise<SendResult> {
  try {
    const sent = producer.send({
      topic: options.topic,
      acks: -1,
      compression: COMPRESSION,
      timeout: options.deadlineMs,
      messages: batch.map(({ value }) => ({ partition, value })),
    });
    await withDeadline(sent, options.deadlineMs);
    return { ok: true };
  } catch {
    // Whether Kafka holds them is unknown: the client owns them still, and dedup drops what comes twice.
    return { ok: false, code: 'not_acknowledged' };
  }
}

function withDeadline<T>(promise: Promise<T>, deadlineMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('deadline')), deadlineMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Refuses what has waited longer than the deadline and was never sent. */
function expire(lane: Lane, options: SenderOptions, settleAll: (b: Waiting[], r: SendResult) => void): void {
  const limit = options.nowMs() - options.deadlineMs;
  const count = lane.waiting.findIndex(({ since }) => since > limit);
  const expired = lane.waiting.splice(0, count === -1 ? lane.waiting.length : count);
  settleAll(expired, { ok: false, code: 'not_acknowledged' });
}
