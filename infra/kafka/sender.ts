import type { Kafka, Producer } from 'kafkajs';
import { createWatchdog } from '#infra/concurrency/time_limits.ts';
import { passes } from './consumer/group_consumer.ts';
import { explicitPartitioner, openLeaders } from './producers.ts';
import { COMPRESSION } from './zstd.ts';

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
}

/** While more than half of the capacity is taken, a partition whose oldest record is older takes no more. */
const AGE_MS_MAX = 1_000;
/** With more capacity, a pause such as a new leader's election is waited out for this share of the deadline. */
const AGE_SHARE_OF_DEADLINE = 0.5;
const SWEEP_MS = 50;
/**
 * Least time between two moments at which requests are made: one costs client and broker nearly the same whether it holds
 * one record or ten. A record that comes later than that after the last one never waits.
 */
const REQUEST_INTERVAL_MS = 15;
const NOT_ACKNOWLEDGED: SendResult = { ok: false, code: 'not_acknowledged' };
/** `interrupted`: for a reason that may have passed by the next time. */
type Produced = 'written' | 'interrupted' | 'failed';

/**
 * One produce request holds what waits for the partitions that a broker leads, and a partition is in one open request at a
 * time: what arrives meanwhile goes into a later one. At rest a record goes at once, under load requests grow by themselves.
 *
 * A request of several partitions is sent once, as kafkajs can report a partition as written that it never wrote when it
 * retries such a request after a leader has moved. Where it fails each of its partitions is sent by itself, with the client's
 * retries and more; what it had written then stands twice, and dedup drops it.
 *
 * A request that outlives the deadline keeps its partitions and its bytes until the client gives it up: what is held in
 * memory is always counted, and a partition that does not answer is not asked again and again.
 */
export async function createSender(options: SenderOptions) {
  const { kafka, topic, requestBytesMax, queuedBytesMax, deadlineMs, watchdogMs, isClusterAlive, onFatal } = options;
  const plain = { allowAutoTopicCreation: false, createPartitioner: explicitPartitioner };
  const retrying = kafka.producer(plain);
  const once = kafka.producer({ ...plain, retry: { retries: 0 } });
  await Promise.all([retrying.connect(), once.connect()]);
  const leaders = await openLeaders(kafka);
  await leaders.learn([topic]);
  const watchdog = createWatchdog({ limitMs: watchdogMs, onFatal, counts: isClusterAlive });
  const queues = new Map<number, PartitionQueue>();
  let queuedBytes = 0;
  let madeMs = Number.NEGATIVE_INFINITY;
  let pause: NodeJS.Timeout | null = null;
  let isLearning = false;
  let isStopped = false;

  function refusalOf(queue: PartitionQueue, bytes: number): SendRefusal | null {
    if (queuedBytes + bytes > queuedBytesMax) return { code: 'queue_full' };
    const ageMs = options.nowMs() - sinceOf(queue);
    const ageMsMax = queuedBytes > queuedBytesMax / 2 ? AGE_MS_MAX : deadlineMs * AGE_SHARE_OF_DEADLINE;
    return ageMs > ageMsMax ? { code: 'queue_old' } : null;
  }

  /** Makes requests of what waits, now or when the interval is over. */
  function schedule(): void {
    if (pause !== null || ![...queues.values()].some(isReady)) return;
    const pauseMs = madeMs + REQUEST_INTERVAL_MS - options.nowMs();
    if (pauseMs <= 0) makeRequests();
    else {
      pause = setTimeout(() => {
        pause = null;
        makeRequests();
      }, pauseMs);
    }
  }

  function makeRequests(): void {
    madeMs = options.nowMs();
    const ready = [...queues].filter(([, queue]) => isReady(queue));
    for (const [, queue] of ready) queue.inFlight = takeBatch(queue, requestBytesMax);
    for (const [leader, parts] of Map.groupBy(ready, ([partition]) => leaders.of(topic, partition))) {
      if (leader === undefined) learnLeaders();
      // Of no known leader, each by itself.
      for (const request of packed(parts, leader === undefined ? 0 : requestBytesMax)) void sendTogether(request);
    }
  }

  function learnLeaders(): void {
    if (isLearning) return;
    isLearning = true;
    const learnt = leaders.learn([topic]).catch(() => undefined);
    void learnt.finally(() => {
      isLearning = false;
    });
  }

  async function sendTogether(parts: readonly Part[]): Promise<void> {
    if (parts.length === 1) return sendAlone(parts[0] as Part);
    const result = await watchdog.watch('a produce request', () => produce(once, parts));
    if (result !== 'written') leaders.forget();
    for (const part of parts) {
      // What nobody waits for any more is not sent again.
      if (result === 'written' || isGivenUp(part)) finish(part, result);
      else void sendAlone(part);
    }
  }

  /** As often as somebody waits for it: the client's retries end sooner than a leader is elected on a machine that is busy. */
  async function sendAlone(part: Part): Promise<void> {
    let result: Produced;
    do {
      result = await watchdog.watch('a produce request', () => produce(retrying, [part]));
    } while (result === 'interrupted' && !isStopped && !isGivenUp(part));
    finish(part, result);
  }

  async function produce(producer: Producer, parts: readonly Part[]): Promise<Produced> {
    const messages = parts.flatMap(([partition, { inFlight }]) =>
      inFlight.map(({ value, headers }) => ({ partition, value, ...(headers && { headers }) })),
    );
    try {
      await producer.send({ topic, acks: -1, compression: COMPRESSION, timeout: deadlineMs, messages });
      return 'written';
    } catch (error) {
      // Whether Kafka holds them is unknown: the sender of the request still has the events, and dedup drops what comes twice.
      return error instanceof Error && passes(error) ? 'interrupted' : 'failed';
    }
  }

  function finish([, queue]: Part, result: Produced): void {
    release(queue.inFlight);
    for (const entry of queue.inFlight) settle(entry, result === 'written' ? { ok: true } : NOT_ACKNOWLEDGED);
    queue.inFlight = [];
    schedule();
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
      const queue = queues.get(partition) ?? { waiting: [], inFlight: [] };
      queues.set(partition, queue);
      const refusal = refusalOf(queue, value.length);
      if (refusal !== null) return { ok: false, ...refusal };
      queuedBytes += value.length;
      const { promise, resolve } = Promise.withResolvers<SendResult>();
      queue.waiting.push({ value, headers, since: options.nowMs(), settle: resolve });
      schedule();
      return promise;
    },
    queuedBytes: (): number => queuedBytes,
    /** How long the oldest record that Kafka has not answered for has waited. */
    oldestMs: (): number => Math.max(0, options.nowMs() - Math.min(...[...queues.values()].map(sinceOf))),
    async stop(): Promise<void> {
      clearInterval(timer);
      isStopped = true;
      await Promise.all([retrying.disconnect(), once.disconnect(), leaders.close()]);
    },
  };
}

/** A partition, and its queue. */
type Part = readonly [partition: number, queue: PartitionQueue];

/** Parts that share a request while they are small: what is much would only hold up the others. */
function packed(parts: readonly Part[], bytesMax: number): Part[][] {
  const requests: Part[][] = [];
  let room = 0;
  for (const part of parts) {
    const bytes = part[1].inFlight.reduce((sum, { value }) => sum + value.length, 0);
    if (requests.length === 0 || bytes > room) {
      requests.push([]);
      room = bytesMax;
    }
    requests.at(-1)?.push(part);
    room -= bytes;
  }
  return requests;
}

function isReady({ waiting, inFlight }: PartitionQueue): boolean {
  return waiting.length > 0 && inFlight.length === 0;
}

function isGivenUp([, { inFlight }]: Part): boolean {
  return inFlight.every((entry) => entry.settle === null);
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
