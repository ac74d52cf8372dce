// Produce requests in one go. The client makes an encoder with memory of its own for each record, batch, partition and topic, and copies
// from one into the next, which took three times as long.

import { COMPRESSION, compressZstd } from '../zstd.ts';
import { crc32c } from './crc32c.ts';

type Bytes = Buffer | string | null;

interface RecordToEncode {
  key?: Bytes;
  value?: Bytes;
  /** Milliseconds since 1970 UTC; absent: now. */
  timestamp?: string | number;
  headers?: Readonly<Record<string, Bytes | readonly Bytes[]>>;
}

/** What the client's producer passes; of what is absent it writes the default of a producer without a transaction. */
export interface ProduceRequest {
  acks: number;
  timeout: number;
  transactionalId?: string | null;
  producerId?: { toString(): string };
  producerEpoch?: number;
  compression?: number;
  topicData: readonly {
    topic: string;
    partitions: readonly { partition: number; firstSequence?: number; messages: readonly RecordToEncode[] }[];
  }[];
}

/** Records of a partition. */
interface Batch {
  partition: number;
  firstSequence: number;
  count: number;
  /** As they stand in the request. */
  bytes: Buffer;
  firstMs: bigint;
  lastMs: bigint;
}

const NO_COMPRESSION = 0;
/** Whether requests with it are encoded here. */
export const isEncodedHere = ({ compression = NO_COMPRESSION }: ProduceRequest): boolean =>
  compression === NO_COMPRESSION || compression === COMPRESSION;

const BATCH_HEAD_BYTES = 61;
/** Of a batch, before what its length counts, and before what its checksum is of. */
const [LENGTH_FROM, CHECKSUM_AT, CHECKED_FROM] = [12, 17, 21];
const MAGIC = 2;
const TRANSACTIONAL = 16;

/** Produce request, versions 3 to 7, behind its header. Format: https://kafka.apache.org/documentation/#recordbatch */
export function encodeProduce(request: ProduceRequest): Buffer {
  const { acks, timeout, transactionalId = null, compression = NO_COMPRESSION, topicData } = request;
  const nowMs = Date.now();
  const topics = topicData.map(({ topic, partitions }) => ({
    topic,
    batches: partitions.map(({ partition, messages, firstSequence = 0 }): Batch => {
      return { partition, firstSequence, count: messages.length, ...read(messages, compression, nowMs) };
    }),
  }));
  let size = 2 + textBytes(transactionalId) + 2 + 4 + 4;
  for (const { topic, batches } of topics) {
    size += 2 + textBytes(topic) + 4;
    for (const { bytes } of batches) size += 4 + 4 + BATCH_HEAD_BYTES + bytes.length;
  }
  const buffer = Buffer.allocUnsafe(size);
  let at = putText(buffer, 0, transactionalId);
  at = buffer.writeInt16BE(acks, at);
  at = buffer.writeInt32BE(timeout, at);
  at = buffer.writeInt32BE(topics.length, at);
  for (const { topic, batches } of topics) {
    at = putText(buffer, at, topic);
    at = buffer.writeInt32BE(batches.length, at);
    for (const batch of batches) {
      at = buffer.writeInt32BE(batch.partition, at);
      at = buffer.writeInt32BE(BATCH_HEAD_BYTES + batch.bytes.length, at);
      at = putBatch(buffer, at, batch, request);
    }
  }
  return buffer;
}

function putBatch(buffer: Buffer, start: number, batch: Batch, request: ProduceRequest): number {
  const { firstSequence, count, bytes, firstMs, lastMs } = batch;
  const { transactionalId, producerId = -1, producerEpoch = 0, compression = NO_COMPRESSION } = request;
  const end = start + BATCH_HEAD_BYTES + bytes.length;
  let at = buffer.writeBigInt64BE(0n, start);
  at = buffer.writeInt32BE(end - start - LENGTH_FROM, at);
  at = buffer.writeInt32BE(0, at); // Of the leader's epoch nothing is known.
  buffer[at] = MAGIC;
  at = start + CHECKED_FROM;
  at = buffer.writeInt16BE(compression | (transactionalId ? TRANSACTIONAL : 0), at);
  at = buffer.writeInt32BE(count - 1, at);
  at = buffer.writeBigInt64BE(firstMs, at);
  at = buffer.writeBigInt64BE(lastMs, at);
  at = buffer.writeBigInt64BE(BigInt(String(producerId)), at);
  at = buffer.writeInt16BE(producerEpoch, at);
  at = buffer.writeInt32BE(firstSequence, at);
  at = buffer.writeInt32BE(count, at);
  bytes.copy(buffer, at);
  buffer.writeUInt32BE(crc32c(buffer.subarray(start + CHECKED_FROM, end)), start + CHECKSUM_AT);
  return end;
}

const SCRATCH_BYTES = 1024 * 1024;
/** Nothing of it outlives a call. */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

function read(
  messages: readonly RecordToEncode[],
  compression: number,
  nowMs: number,
): Pick<Batch, 'bytes' | 'firstMs' | 'lastMs'> {
  // The client's order, which is that of texts.
  const times = messages
    .flatMap(({ timestamp }) => (timestamp === undefined || timestamp === null ? [] : [timestamp]))
    .sort((one, other) => (String(one) < String(other) ? -1 : 1));
  const [first, last] = [times[0] ?? nowMs, times.at(-1) ?? nowMs];
  const delta = ({ timestamp }: RecordToEncode): number => Number(timestamp || nowMs) - Number(first);
  const sizes = messages.map((message, index) => recordBytes(message, index, delta(message)));
  let size = 0;
  for (const one of sizes) size += sizeOfVarint(one) + one;
  const buffer = size <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const [index, message] of messages.entries()) {
    at = putRecord(buffer, writeVarint(buffer, at, sizes[index] ?? 0), message, index, delta(message));
  }
  const written = buffer.subarray(0, size);
  const bytes = compression === COMPRESSION ? compressZstd(written) : Buffer.from(written);
  return { bytes, firstMs: BigInt(first), lastMs: BigInt(last) };
}

/** How long a record is behind its length. */
function recordBytes(
  { key, value, headers = {} }: RecordToEncode,
  offsetDelta: number,
  timestampDelta: number,
): number {
  let size = 1 + sizeOfVarint(timestampDelta) + sizeOfVarint(offsetDelta) + sizeOfBytes(key) + sizeOfBytes(value);
  let count = 0;
  for (const name of Object.keys(headers)) {
    for (const one of valuesOf(headers, name)) {
      size += sizeOfBytes(name) + sizeOfBytes(one);
      count += 1;
    }
  }
  return size + sizeOfVarint(count);
}

function putRecord(
  buffer: Buffer,
  start: number,
  { key, value, headers = {} }: RecordToEncode,
  offsetDelta: number,
  timestampDelta: number,
): number {
  let at = start;
  buffer[at++] = 0; // No attributes are defined.
  at = writeVarint(buffer, at, timestampDelta);
  at = writeVarint(buffer, at, offsetDelta);
  at = putBytes(buffer, at, key);
  at = putBytes(buffer, at, value);
  const named = Object.keys(headers).flatMap((name) => valuesOf(headers, name).map((one) => [name, one] as const));
  at = writeVarint(buffer, at, named.length);
  for (const [name, one] of named) at = putBytes(buffer, putBytes(buffer, at, name), one);
  return at;
}

function valuesOf(headers: NonNullable<RecordToEncode['headers']>, name: string): readonly Bytes[] {
  const values = headers[name] as Bytes | readonly Bytes[];
  return Array.isArray(values) ? (values as readonly Bytes[]) : [values as Bytes];
}

const lengthOf = (bytes: Buffer | string): number =>
  typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;

function sizeOfBytes(bytes: Bytes | undefined): number {
  if (bytes === null || bytes === undefined) return 1;
  const length = lengthOf(bytes);
  return sizeOfVarint(length) + length;
}

/** Behind their length; without any -1 stands for them. */
function putBytes(buffer: Buffer, at: number, bytes: Bytes | undefined): number {
  if (bytes === null || bytes === undefined) return writeVarint(buffer, at, -1);
  const start = writeVarint(buffer, at, lengthOf(bytes));
  return start + (typeof bytes === 'string' ? buffer.write(bytes, start) : bytes.copy(buffer, start));
}

const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

/** Of a whole number below 2^52, zigzag as a varint and a varlong alike have it. */
function sizeOfVarint(value: number): number {
  let bytes = 1;
  for (let rest = zigzag(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}

function writeVarint(buffer: Buffer, from: number, value: number): number {
  let at = from;
  let rest = zigzag(value);
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) buffer[at++] = (rest % 0x80) | 0x80;
  buffer[at++] = rest;
  return at;
}

const textBytes = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text));

function putText(buffer: Buffer, at: number, text: string | null): number {
  if (text === null) return buffer.writeInt16BE(-1, at);
  const start = buffer.writeInt16BE(Buffer.byteLength(text), at);
  return start + buffer.write(text, start);
}
