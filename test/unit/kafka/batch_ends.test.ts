import { expect, test } from 'vitest';
import { internal, patchClient } from '#infra/kafka/kafkajs_patches/client_patches.ts';

interface Encoder {
  buffer: Buffer;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeInt64(value: number): Encoder;
  writeString(value: string): Encoder;
  writeBytes(value: Buffer): Encoder;
}

interface Answer {
  responses: { partitions: { messages: { offset: string; isControlRecord: boolean }[] }[] }[];
}

patchClient();
const EncoderOfClient = internal<new () => Encoder>('protocol/encoder.js');
const { RecordBatch } = internal<{ RecordBatch(of: object): Promise<Encoder> }>('protocol/recordBatch/v0/index.js');
const record = internal<(of: object) => object>('protocol/recordBatch/record/v0/index.js');
const { decode } = internal<{ decode(bytes: Buffer): Promise<Answer> }>('protocol/requests/fetch/v4/response.js');

/** A batch of `length` offsets of which only these are left. */
async function batchOf(firstOffset: number, length: number, left: readonly number[]): Promise<Buffer> {
  const records = left.map((at) => record({ offsetDelta: at - firstOffset, key: `k${at}`, value: 'v' }));
  return (await RecordBatch({ firstOffset, lastOffsetDelta: length - 1, records })).buffer;
}

function answerOf(batches: readonly Buffer[]): Buffer {
  const head = new EncoderOfClient().writeInt32(0).writeInt32(1).writeString('topic').writeInt32(1).writeInt32(0);
  return head.writeInt16(0).writeInt64(100).writeInt64(100).writeInt32(0).writeBytes(Buffer.concat(batches)).buffer;
}

test('what compaction has left of batches is read up to the end of each', async () => {
  const batches = [await batchOf(0, 3, [0, 1, 2]), await batchOf(3, 4, [3, 5]), await batchOf(7, 2, [])];
  const { responses } = await decode(answerOf(batches));
  const seen = responses[0]?.partitions[0]?.messages.map(({ offset, isControlRecord }) =>
    isControlRecord ? `end ${offset}` : offset,
  );
  expect(seen).toEqual(['0', '1', '2', '3', '5', 'end 6', 'end 8']);
});
