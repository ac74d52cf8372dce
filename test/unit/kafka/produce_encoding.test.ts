import fc from 'fast-check';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { registerZstd } from '#infra/kafka/client.ts';
import { internal, patchClient } from '#infra/kafka/kafkajs_patches/client_patches.ts';
import { encodeProduce, type ProduceRequest } from '#infra/kafka/kafkajs_patches/produce_encoding.ts';

type Make = (request: object) => { apiVersion: number; encode(): Promise<{ buffer: Buffer }> };

const PATH = 'protocol/requests/produce/v3/request.js';
/** As the client has it: it is not patched here before the last test. */
const makeByClient = internal<Make>(PATH);
const Long = internal<{ fromValue(value: string): object }>('utils/long.js');
const { None: NONE, GZIP, ZSTD } = kafkajs.CompressionTypes;

beforeAll(() => {
  registerZstd();
  vi.useFakeTimers({ now: 1_764_500_000_123, toFake: ['Date'] });
});
afterAll(() => vi.useRealTimers());

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
);
const maybe = fc.option(bytes);
const headers = fc.dictionary(
  fc.string({ unit: 'grapheme', maxLength: 70 }),
  fc.oneof(bytes, fc.array(bytes, { maxLength: 3 })),
  {
    maxKeys: 5,
    noNullPrototype: true,
  },
);
const timestamp = fc.integer({ min: 1_500_000_000_000, max: 1_999_999_999_999 }).map(String);
const message = fc.record({ key: maybe, value: maybe, headers, timestamp }, { requiredKeys: [] });
const partition = fc.record(
  {
    partition: fc.nat({ max: 1_000 }),
    firstSequence: fc.nat({ max: 2 ** 31 - 1 }),
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
  },
  { requiredKeys: ['partition', 'messages'] },
);
const request = fc.record(
  {
    acks: fc.constantFrom(-1, 0, 1),
    timeout: fc.nat({ max: 60_000 }),
    transactionalId: fc.option(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })),
    producerId: fc.bigInt({ min: -1n, max: 2n ** 62n }).map((id) => Long.fromValue(String(id))),
    producerEpoch: fc.integer({ min: 0, max: 32_767 }),
    compression: fc.constantFrom(NONE, ZSTD),
    topicData: fc.array(
      fc.record({
        topic: fc.string({ unit: 'grapheme', maxLength: 40 }),
        partitions: fc.array(partition, { maxLength: 4 }),
      }),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: ['acks', 'timeout', 'topicData'] },
);

test('a produce request is encoded as the client encodes it, byte by byte', async () => {
  await fc.assert(
    fc.asyncProperty(request, async (one) => {
      const { buffer } = await makeByClient(one).encode();
      expect(encodeProduce(one as unknown as ProduceRequest)).toEqual(buffer);
    }),
    { seed: 11, numRuns: 1_500 },
  );
});

test.each([NONE, ZSTD])('records of more than a mebibyte are encoded whole (compression %i)', async (compression) => {
  const value = Buffer.alloc(3_000_000, 'a value ');
  const messages = Array.from({ length: 100 }, () => ({
    value: value.subarray(0, 30_000),
    headers: { name: 'x'.repeat(300) },
  }));
  for (const sent of [[{ value }], messages]) {
    const one = {
      acks: -1,
      timeout: 1,
      compression,
      topicData: [{ topic: 't', partitions: [{ partition: 0, messages: sent }] }],
    };
    const { buffer } = await makeByClient(one).encode();
    expect(encodeProduce(one).equals(buffer)).toBe(true);
  }
});

test('the client takes it for every version that it sends, and leaves other compressions to itself', async () => {
  patchClient();
  const topicData = [{ topic: 't', partitions: [{ partition: 1, messages: [{ key: 'k', value: 'v', headers: {} }] }] }];
  for (const version of [3, 4, 5, 6, 7]) {
    const one = { acks: -1, timeout: 1, compression: ZSTD, topicData };
    const made = internal<Make>(`protocol/requests/produce/v${version}/request.js`)(one);
    expect(made.apiVersion).toBe(version);
    const { buffer, buf, offset } = (await made.encode()) as { buffer: Buffer; buf: Buffer; offset: number };
    expect(buffer.equals((await makeByClient(one).encode()).buffer)).toBe(true);
    expect([buf.length, offset]).toEqual([buffer.length, buffer.length]);
    const zipped = { ...one, compression: GZIP };
    expect((await internal<Make>(PATH)(zipped).encode()).buffer).toEqual((await makeByClient(zipped).encode()).buffer);
  }
});
