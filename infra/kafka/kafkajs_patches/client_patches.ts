// Corrections of kafkajs 2.2.4's connections, metadata, encoder and fetch; each function says what goes wrong without it.
import { createRequire } from 'node:module';
import { encodeProduce, isEncodedHere, type ProduceRequest } from './produce_encoding.ts';

interface Message {
  offset: string;
  key: Buffer | null;
  isControlRecord: boolean;
  batchContext: { producerId: string; inTransaction: boolean };
}

interface Partition {
  abortedTransactions: { producerId: string; firstOffset: string }[] | null;
  messages: Message[];
}

interface Fetch {
  responses: { partitions: Partition[] }[];
}

const require = createRequire(import.meta.url);

/** A module inside the client. */
export const internal = <Module>(path: string): Module => require(`kafkajs/src/${path}`) as Module;

/** A patch that is made once, however often it is asked for. */
export function once(patch: () => void): () => void {
  let isMade = false;
  return () => {
    if (isMade) return;
    isMade = true;
    patch();
  };
}

/** A batch of records as it stands in a log. */
interface RecordBatch {
  firstOffset: string;
  lastOffsetDelta: number;
  producerId: string;
  inTransaction: boolean;
  records: Message[];
}

/**
 * Makes each batch of a fetch end at its last offset. Compaction leaves batches whose last records are gone, and empty ones
 * of the producers that are still known. The client counts records only: where nothing but such batches is left at the end of
 * a segment it fetches them again and again, for ever, or looks for what follows one offset at a time. Here the end is a
 * control record without a key, which the client leaves out and whose offset it counts.
 */
const patchBatchEnds = once(() => {
  // Before anything of the client that decodes fetches is loaded, as it keeps the function that it finds.
  const path = require.resolve('kafkajs/src/protocol/recordBatch/v0/decoder.js');
  const decode = require(path) as (decoder: unknown) => Promise<RecordBatch>;
  const loaded = require.cache[path];
  if (loaded !== undefined) loaded.exports = async (decoder: unknown) => withEnd(await decode(decoder));
});

function withEnd({ records, ...batchContext }: RecordBatch): RecordBatch {
  const offset = String(BigInt(batchContext.firstOffset) + BigInt(batchContext.lastOffsetDelta));
  if (records.at(-1)?.offset !== offset) records.push({ offset, key: null, isControlRecord: true, batchContext });
  return { ...batchContext, records };
}

/** The versions of the fetch response that list aborted transactions; the client takes the newest the broker has. */
const VERSIONS = [4, 5, 6, 7, 8, 9, 10, 11];
const ABORT = Buffer.from([0, 0, 0, 0]);

/**
 * Makes the client leave out every record of an aborted transaction. The broker lists aborted transactions by their
 * ends; the client takes the list for one by their beginnings and looks at one entry for each record, so that it hands
 * out aborted records wherever two aborted transactions overlap on a partition, as they do when a process dies in the
 * middle of several. Here they are marked as control records, which the client leaves out and whose offsets it counts.
 */
export const patchAbortedRecords = once(() => {
  patchBatchEnds();
  for (const version of VERSIONS) {
    const response = internal<{ decode(raw: Buffer): Promise<Fetch> }>(
      `protocol/requests/fetch/v${version}/response.js`,
    );
    const decode = response.decode.bind(response);
    response.decode = async (raw) => {
      const fetch = await decode(raw);
      for (const { partitions } of fetch.responses) for (const partition of partitions) hideAborted(partition);
      return fetch;
    };
  }
});

/** Of each producer: the first offsets of its aborted transactions, and whether one is being passed. */
export function hideAborted(partition: Partition): void {
  const { abortedTransactions, messages } = partition;
  if (abortedTransactions === null || abortedTransactions.length === 0) return;
  const pending = [...abortedTransactions].sort((a, b) => (BigInt(a.firstOffset) < BigInt(b.firstOffset) ? -1 : 1));
  const aborted = new Set<string>();
  for (const message of messages) {
    while (pending[0] !== undefined && BigInt(pending[0].firstOffset) <= BigInt(message.offset)) {
      aborted.add(pending[0].producerId);
      pending.shift();
    }
    const { producerId, inTransaction } = message.batchContext;
    if (message.isControlRecord) {
      if (message.key?.equals(ABORT)) aborted.delete(producerId);
    } else if (inTransaction && aborted.has(producerId)) message.isControlRecord = true;
  }
  partition.abortedTransactions = [];
}

interface Connection {
  host: string;
  port: number;
  connectionStatus: string;
  requestTimeout: number;
  authHandlers: { onError(): void } | null;
  disconnect(): Promise<boolean>;
  failIfNotConnected(): void;
  rejectRequests(error: Error): void;
  sendAuthRequest(protocol: unknown): Promise<unknown>;
}
const { prototype: connectionPrototype } = internal<{ prototype: Connection }>('network/connection.js');
const { KafkaJSConnectionClosedError } = internal<{
  KafkaJSConnectionClosedError: new (message: string, facts: { host: string; port: number }) => Error;
}>('errors.js');

const CONNECTED = 'connected';

/**
 * Makes the client answer every request of a connection that is being closed. kafkajs 2.2.4 accepts requests until the
 * connection is closed, but stops its check for timeouts as soon as no request is open: a request that comes between the
 * two is neither answered nor timed out. Here requests are refused from the moment on at which closing begins, and those
 * that were accepted meanwhile are refused when it ends. A broker that does not answer during authentication is given up
 * likewise.
 */
export const patchClosingConnection = once(() => {
  const { disconnect, failIfNotConnected, sendAuthRequest } = connectionPrototype;
  connectionPrototype.failIfNotConnected = function () {
    failIfNotConnected.call(this);
    if (this.connectionStatus !== CONNECTED) throw closed(this);
  };
  connectionPrototype.disconnect = async function () {
    const result = await disconnect.call(this);
    this.rejectRequests(closed(this));
    return result;
  };
  connectionPrototype.sendAuthRequest = async function (protocol) {
    const timer = setTimeout(() => this.authHandlers?.onError(), this.requestTimeout);
    try {
      return await sendAuthRequest.call(this, protocol);
    } finally {
      clearTimeout(timer);
    }
  };
});

/** The client retries a request that gets this error, on a new connection. */
function closed({ host, port }: Connection): Error {
  return new KafkaJSConnectionClosedError('Connection is being closed', { host, port });
}

interface Asked {
  groupId: string;
  /** 0: of a group, 1: of a transactional id. */
  coordinatorType: number;
}

interface CoordinatorCluster {
  findGroupCoordinatorMetadata(this: CoordinatorCluster, asked: Asked): Promise<unknown>;
}

interface Found {
  metadata: unknown;
  atMs: number;
}
const ClusterOfClient = internal<{ prototype: CoordinatorCluster }>('cluster/index.js');

const OF_TRANSACTION = 1;
/** After this long the coordinator is looked up again; if it moved earlier, its refusal has the producer made anew. */
const KEPT_MS = 2_000;

/**
 * Makes the client cache for a while which brokers coordinate a transactional id and the group whose offsets go with it.
 * The client looks them up four times in each transaction: a quarter of all requests of a transactional stage. Only the
 * clients of transactional producers cache anything: consumers, and whatever commits offsets by itself, look up the
 * coordinator each time.
 */
export const patchCoordinatorCache = once(() => {
  const known = new WeakMap<CoordinatorCluster, Map<string, Found>>();
  const { findGroupCoordinatorMetadata } = ClusterOfClient.prototype;
  ClusterOfClient.prototype.findGroupCoordinatorMetadata = async function (asked) {
    if (asked.coordinatorType === OF_TRANSACTION && !known.has(this)) known.set(this, new Map());
    const ofCluster = known.get(this);
    const name = `${asked.coordinatorType}/${asked.groupId}`;
    const found = ofCluster?.get(name);
    if (found !== undefined && performance.now() - found.atMs < KEPT_MS) return found.metadata;
    const metadata = await findGroupCoordinatorMetadata.call(this, asked);
    ofCluster?.set(name, { metadata, atMs: performance.now() });
    return metadata;
  };
});

interface MetadataCluster {
  findTopicPartitionMetadata(topic: string): { partitionId: number }[];
  findLeaderForPartitions(topic: string, partitions: readonly (number | string)[]): Record<string, number[]>;
}
const { prototype: clusterPrototype } = internal<{ prototype: MetadataCluster }>('cluster/index.js');
const { createErrorFromCode } = internal<{
  createErrorFromCode(code: number): Error;
}>('protocol/error.js');

/** Kafka's error code of a partition that a broker does not know. The client renews its metadata by it and tries again. */
const UNKNOWN_TOPIC_OR_PARTITION = 3;

/**
 * Makes a request for a partition that the client's metadata lacks fail as it does where the broker lacks it: metadata is
 * renewed, the request tried again, and the caller told if the partition is still not there. Without this the client leaves
 * the partition out: `send` resolves though nothing was sent, a transaction commits offsets without their records, and a
 * question about offsets has no answer for it. Metadata lacks a partition where more are configured than the topic has, and
 * for minutes after some were added.
 */
const patchUnknownPartition = once(() => {
  const findLeaders = clusterPrototype.findLeaderForPartitions;
  clusterPrototype.findLeaderForPartitions = function (topic, partitions) {
    const known = new Set(this.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId));
    if (partitions.some((partition) => !known.has(Number(partition)))) {
      throw createErrorFromCode(UNKNOWN_TOPIC_OR_PARTITION);
    }
    return findLeaders.call(this, topic, partitions);
  };
});

interface Encoder {
  buf: Buffer;
  offset: number;
}

interface EncoderClass {
  new (initialSize?: number): Encoder & { buffer: Buffer };
  nextPowerOfTwo(value: number): number;
  prototype: {
    ensureAvailable(this: Encoder, length: number): void;
    writeEncoderArray(this: Encoder & EncoderMethods, encoders: readonly Encoder[]): Encoder;
  };
}

interface EncoderMethods {
  ensureAvailable(length: number): void;
}
const EncoderOfClient = internal<EncoderClass>('protocol/encoder.js');

/**
 * Makes the client's encoders take memory without filling it with zeros first, and take it once for a list whose size
 * is known. An encoder only ever returns bytes that were written to it, and a request with one record of 25 KB passes
 * through ten encoders: without the zeros a record costs the client an eighth less CPU.
 */
export const patchEncoderMemory = once(() => {
  EncoderOfClient.prototype.ensureAvailable = function (length) {
    if (this.offset + length <= this.buf.length) return;
    const grown = Buffer.allocUnsafe(EncoderOfClient.nextPowerOfTwo(this.offset + length));
    this.buf.copy(grown, 0, 0, this.offset);
    this.buf = grown;
  };
  EncoderOfClient.prototype.writeEncoderArray = function (encoders) {
    this.ensureAvailable(encoders.reduce((bytes, { offset }) => bytes + offset, 0));
    for (const { buf, offset } of encoders) {
      buf.copy(this.buf, this.offset, 0, offset);
      this.offset += offset;
    }
    return this;
  };
});

/**
 * Makes the client encode a produce request in one buffer (`encodeProduce`). Its own way makes a zeroed buffer of 512 bytes for each
 * record and each header, an array and a buffer for each number, and a BigInt for each time.
 */
const patchProduceEncoding = once(() => {
  // Before the first produce request, with which the client loads the later versions: they keep the function that they find.
  const path = require.resolve('kafkajs/src/protocol/requests/produce/v3/request.js');
  const make = require(path) as (request: ProduceRequest) => { encode(): Promise<Encoder> };
  const loaded = require.cache[path];
  if (loaded === undefined) return;
  loaded.exports = (request: ProduceRequest) => {
    const made = make(request);
    return isEncodedHere(request) ? { ...made, encode: async () => encoderOf(encodeProduce(request)) } : made;
  };
});

/** What the client takes for an encoder that has written these bytes. */
function encoderOf(bytes: Buffer): Encoder & { buffer: Buffer } {
  return { buf: bytes, buffer: bytes, offset: bytes.length };
}

interface RequestQueue {
  pending: readonly unknown[];
  /** Until when the broker asked to be left alone, in milliseconds since 1970 UTC; -1 where it never did. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(this: RequestQueue): void;
}
const QueueOfClient = internal<{ prototype: RequestQueue }>('network/requestQueue/index.js');

/** The client's own interval. An answer sends the requests that wait behind it; the timer is for when none comes. */
const CHECK_MS = 10;

/**
 * Makes the client check its queue of waiting requests only while there are some. It sets the timer after every check, to
 * the end of a throttling that mostly never was: a negative time, which Node takes for 1 ms. Every connection that was used
 * once then wakes its process a thousand times a second for ever.
 */
export const patchQueueTimer = once(() => {
  QueueOfClient.prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
    const throttledMs = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : CHECK_MS,
    );
  };
});

/** Makes all of these. */
export const patchClient = once(() => {
  patchAbortedRecords();
  patchCoordinatorCache();
  patchEncoderMemory();
  patchProduceEncoding();
  patchQueueTimer();
  patchClosingConnection();
  patchUnknownPartition();
});
