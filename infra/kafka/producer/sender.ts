import type { Kafka, Producer } from 'kafkajs';
import { createWatchdog } from '#infra/concurrency/watchdog.ts';
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
  nowMs(): number;
  /** Longest that a produce request may take while the cluster answers, all tries of the client included. */
  watchdogMs: number;
  /** Time in which it is away does not count: there is nothing to do but wait. */
  isClusterAlive(): boolean;
  /** Called when a produce request hangs, which nothing but another process can help. */
  onFatal(error: unknown): void;
}

/** `queue_old`: what was to go to the partition before has waited too long already. */
export type SendRefusal = { code: 'queue_full' | 'queue_old' | 'not_acknowledged' };
export type SendResult = { ok: true } | ({ ok: false } & SendRefusal);

/** Appends single records to partitions of one topic, acknowledged by all in-sync replicas. */
export interface PartitionSender {
  /** Resolves when Kafka holds the record, or when it cannot be said that it does. Never rejects. */
  send(partition: number, value: Buffer, headers?: Record<string, string>): Promise<SendResult>;
  /** Bytes queued and in flight now. */
  queuedBytes(): number;
  /** How long the oldest record that Kafka has not answered for has waited. */
  oldestMs(): number;
  stop(): Promise<void>;
}

interface Waiting {
  value: Buffer;
  headers: Record<string, string> | undefined;
  since: number;
  /** Null when the deadline has passed and the sender was told. */
  settle: ((result: SendResult) => void) | null;
}

interface Lane {
  waiting: Waiting[];
  /** What the open produce request holds, until Kafka or the client has answered for it. */
  inFlight: Waiting[];
  /** Whether somebody takes from it already. */
  pumping: boolean;
}

/** Where half of the room is taken, a partition whose oldest record is older takes no more. */
const AGE_MS_MAX = 1_000;
/** With more room, a pause such as a new leader's election is waited out for this share of the deadline. */
const AGE_SHARE_OF_DEADLINE = 0.5;
const SWEEP_MS = 50;

/**
 * One produce request a partition is in flight at a time; what arrives meanwhile goes together in the next one. At rest
 * a record goes at once, under load requests grow by themselves. A request never spans partitions: kafkajs can report
 * a partition as written that it never wrote when a leader moves during such a request.
 *
 * A request that outlives the deadline keeps its partition and its bytes until the client gives it up: what is held in
 * memory is always counted, and a partition that does not answer is not asked again and again.
 */
export async function createSender(options: SenderOptions): Promise<PartitionSender> {
  const producer = options.kafka.producer({ allowAutoTopicCreation: false, createPartitioner: chosenPartition });
  await producer.connect();
  const watchdog = createWatchdog({
    limitMs: options.watchdogMs,
    onFatal: options.onFatal,
    counts: options.isClusterAlive,
  });
  const lanes = new Map<number, Lane>();
  let queued = 0;

  function laneOf(partition: number): Lane {
    let lane = lanes.get(partition);
    if (lane === undefined) {
      lane = { waiting: [], inFlight: [], pumping: false };
      lanes.set(partition, lane);
    }
    return lane;
  }

  function release(batch: readonly Waiting[]): void {
    for (const { value } of batch) queued -= value.length;
  }

  async function pump(partition: number, lane: Lane): Promise<void> {
    lane.pumping = true;
    while (lane.waiting.length > 0) {
      lane.inFlight = takeBatch(lane, options.requestBytesMax);
      const startedMs = options.nowMs();
      const taken = lane.inFlight;
      const result = await watchdog.watch('a produce request', () => produce(producer, options, partition, taken));
      release(lane.inFlight);
      for (const entry of lane.inFlight) settle(entry, result);
      lane.inFlight = [];
      if (lane.waiting.length > 0) await pause(startedMs + REQUEST_INTERVAL_MS - options.nowMs());
    }
    lane.pumping = false;
  }

  /** Answers what has waited for the whole deadline. Whether Kafka holds what is in flight is unknown. */
  function sweep(): void {
    const limit = options.nowMs() - options.deadlineMs;
    for (const lane of lanes.values()) {
      for (const entry of lane.inFlight) if (entry.since <= limit) settle(entry, NOT_ACKNOWLEDGED);
      const fresh = lane.waiting.findIndex(({ since }) => since > limit);
      const expired = lane.waiting.splice(0, fresh === -1 ? lane.waiting.length : fresh);
      release(expired);
      for (const entry of expired) settle(entry, NOT_ACKNOWLEDGED);
    }
  }

  function refusalOf(lane: Lane, bytes: number): SendRefusal | null {
    if (queued + bytes > options.queuedBytesMax) return { code: 'queue_full' };
    const ageMs = options.nowMs() - sinceOf(lane);
    const ageMsMax = queued > options.queuedBytesMax / 2 ? AGE_MS_MAX : options.deadlineMs * AGE_SHARE_OF_DEADLINE;
    return ageMs > ageMsMax ? { code: 'queue_old' } : null;
  }

  const timer = setInterval(sweep, SWEEP_MS);
  return {
    send(partition, value, headers) {
      const lane = laneOf(partition);
      const refusal = refusalOf(lane, value.length);
      if (refusal !== null) return Promise.resolve({ ok: false, ...refusal });
      queued += value.length;
      return new Promise<SendResult>((resolve) => {
        lane.waiting.push({ value, headers, since: options.nowMs(), settle: resolve });
        if (!lane.pumping) void pump(partition, lane);
      });
    },
    queuedBytes: () => queued,
    oldestMs: () => Math.max(0, options.nowMs() - Math.min(...[...lanes.values()].map(sinceOf))),
    async stop() {
      clearInterval(timer);
      await producer.disconnect();
    },
  };
}

/**
 * Least time between two requests to a partition while records wait: a request costs the client the same whether it
 * holds one record or ten. A record that finds its partition idle never waits.
 */
const REQUEST_INTERVAL_MS = 5;

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

const NOT_ACKNOWLEDGED: SendResult = { ok: false, code: 'not_acknowledged' };

function settle(entry: Waiting, result: SendResult): void {
  entry.settle?.(result);
  entry.settle = null;
}

/** Since when the lane's oldest record waits; for ever in the future where none does. */
function sinceOf({ inFlight, waiting }: Lane): number {
  return inFlight[0]?.since ?? waiting[0]?.since ?? Number.POSITIVE_INFINITY;
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
    await producer.send({
      topic: options.topic,
      acks: -1,
      compression: COMPRESSION,
      timeout: options.deadlineMs,
      messages: batch.map(({ value, headers }) =>
        headers === undefined ? { partition, value } : { partition, value, headers },
      ),
    });
    return { ok: true };
  } catch {
    // Whether Kafka holds them is unknown: the client owns them still, and dedup drops what comes twice.
    return NOT_ACKNOWLEDGED;
  }
}
