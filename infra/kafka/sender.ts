import type { Kafka } from 'kafkajs';
import { createWatchdog } from '#infra/concurrency/time_limits.ts';
import { COMPRESSION } from './client.ts';
import { explicitPartitioner } from './producers.ts';

export interface SenderOptions {
  kafka: Kafka;
  topic: string;
  /** Bytes of one produce request at most. */
  requestBytesMax: number;
  /** Bytes queued and in flight over all partitions at most. */
  queuedBytesMax: number;
  /** Longest a record waits for its acknowledgement. */
  deadlineMs: number;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
  /** Longest that a produce request may take while the cluster answers, all retries of the client included. */
  watchdogMs: number;
  /** Time in which the cluster is away does not count: there is nothing to do but wait. */
  isClusterAlive(): boolean;
  /** Called when a produce request hangs: only a restart of the process helps. */
  onFatal(error: unknown): void;
}

/** `queue_old`: the partition's oldest record has waited too long already. */
export type SendRefusal = { code: 'queue_full' | 'queue_old' | 'not_acknowledged' };
export type SendResult = { ok: true } | ({ ok: false } & SendRefusal);

/** Appends single records to partitions of one topic, acknowledged by all in-sync replicas. */
export type PartitionSender = Awaited<ReturnType<typeof createSender>>;

interface Waiting {
  value: Buffer;
  headers: Record<string, string> | undefined;
  since: number;
  /** Null once the deadline has passed and the caller has its answer. */
  settle: ((result: SendResult) => void) | null;
}

interface PartitionQueue {
  waiting: Waiting[];
  /** The records of the open produce request, until Kafka or the client has answered for them. */
  inFlight: Waiting[];
  /** Whether the loop that sends from the queue runs. */
  pumping: boolean;
}

/** While more than half of the capacity is taken, a partition whose oldest record is older takes no more. */
const AGE_MS_MAX = 1_000;
/** With more capacity, a pause such as a new leader's election is waited out for this share of the deadline. */
const AGE_SHARE_OF_DEADLINE = 0.5;
const SWEEP_MS = 50;
/**
 * Least time between two requests to a partition while records wait: a request costs the client the same whether it
 * holds one record or ten. A record that finds its partition idle never waits.
 */
const REQUEST_INTERVAL_MS = 5;
const NOT_ACKNOWLEDGED: SendResult = { ok: false, code: 'not_acknowledged' };

/**
 * One produce request per partition is in flight at a time; what arrives meanwhile goes in the next one. At rest a record
 * goes at once, under load requests grow by themselves. A request never spans partitions: kafkajs can report a partition as
 * written that it never wrote when a leader moves during such a request.
 *
 * A request that outlives the deadline keeps its partition and its bytes until the client gives it up: what is held in
 * memory is always counted, and a partition that does not answer is not asked again and again.
 */
export async function createSender(options: SenderOptions) {
  const { kafka, topic, requestBytesMax, queuedBytesMax, deadlineMs, watchdogMs, isClusterAlive, onFatal } = options;
  const producer = kafka.producer({ allowAutoTopicCreation: false, createPartitioner: explicitPartitioner });
  await producer.connect();
  const watchdog = createWatchdog({ limitMs: watchdogMs, onFatal, counts: isClusterAlive });
  const queues = new Map<number, PartitionQueue>();
  let queuedBytes = 0;

  function refusalOf(queue: PartitionQueue, bytes: number): SendRefusal | null {
    if (queuedBytes + bytes > queuedBytesMax) return { code: 'queue_full' };
    const ageMs = options.nowMs() - sinceOf(queue);
    const ageMsMax = queuedBytes > queuedBytesMax / 2 ? AGE_MS_MAX : deadlineMs * AGE_SHARE_OF_DEADLINE;
    return ageMs > ageMsMax ? { code: 'queue_old' } : null;
  }

  /** Sends a partition's records, one request after the other, until its queue is empty. */
  async function pump(partition: number, queue: PartitionQueue): Promise<void> {
    queue.pumping = true;
    while (queue.waiting.length > 0) {
      const batch = takeBatch(queue, requestBytesMax);
      queue.inFlight = batch;
      const startedMs = options.nowMs();
      const result = await watchdog.watch('a produce request', () => produce(partition, batch));
      release(batch);
      for (const entry of batch) settle(entry, result);
      queue.inFlight = [];
      const pauseMs = startedMs + REQUEST_INTERVAL_MS - options.nowMs();
      if (queue.waiting.length > 0 && pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    queue.pumping = false;
  }

  async function produce(partition: number, batch: readonly Waiting[]): Promise<SendResult> {
    const messages = batch.map(({ value, headers }) => ({ partition, value, ...(headers && { headers }) }));
    try {
      await producer.send({ topic, acks: -1, compression: COMPRESSION, timeout: deadlineMs, messages });
      return { ok: true };
    } catch {
      // Whether Kafka holds them is unknown: the sender of the request still has the events, and dedup drops what comes twice.
      return NOT_ACKNOWLEDGED;
    }
  }

  function release(batch: readonly Waiting[]): void {
    for (const { value } of batch) queuedBytes -= value.length;
  }

  /** Answers what has waited for the whole deadline. Whether Kafka holds what is in flight is unknown. */
  function sweep(): void {
    const limit = options.nowMs() - deadlineMs;
    for (const { inFlight, waiting } of queues.values()) {
      for (const entry of inFlight) if (entry.since <= limit) settle(entry, NOT_ACKNOWLEDGED);
      const fresh = waiting.findIndex(({ since }) => since > limit);
      const expired = waiting.splice(0, fresh === -1 ? waiting.length : fresh);
      release(expired);
      for (const entry of expired) settle(entry, NOT_ACKNOWLEDGED);
    }
  }

  const timer = setInterval(sweep, SWEEP_MS);
  return {
    /** Resolves when Kafka holds the record, or when it cannot be said that it does. Never rejects. */
    async send(partition: number, value: Buffer, headers?: Record<string, string>): Promise<SendResult> {
      const queue = queues.get(partition) ?? { waiting: [], inFlight: [], pumping: false };
      queues.set(partition, queue);
      const refusal = refusalOf(queue, value.length);
      if (refusal !== null) return { ok: false, ...refusal };
      queuedBytes += value.length;
      const { promise, resolve } = Promise.withResolvers<SendResult>();
      queue.waiting.push({ value, headers, since: options.nowMs(), settle: resolve });
      if (!queue.pumping) void pump(partition, queue);
      return promise;
    },
    queuedBytes: (): number => queuedBytes,
    /** How long the oldest record that Kafka has not answered for has waited. */
    oldestMs: (): number => Math.max(0, options.nowMs() - Math.min(...[...queues.values()].map(sinceOf))),
    async stop(): Promise<void> {
      clearInterval(timer);
      await producer.disconnect();
    },
  };
}

function settle(entry: Waiting, result: SendResult): void {
  entry.settle?.(result);
  entry.settle = null;
}

/** Since when the queue's oldest record waits; positive infinity if none does. */
function sinceOf({ inFlight, waiting }: PartitionQueue): number {
  return inFlight[0]?.since ?? waiting[0]?.since ?? Number.POSITIVE_INFINITY;
}

/** Takes from the front as much as one request may hold, at least one record. */
function takeBatch(queue: PartitionQueue, bytesMax: number): Waiting[] {
  let bytes = 0;
  let count = 0;
  for (const { value } of queue.waiting) {
    if (count > 0 && bytes + value.length > bytesMax) break;
    bytes += value.length;
    count++;
  }
  return queue.waiting.splice(0, count);
}
