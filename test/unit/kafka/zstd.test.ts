import { randomBytes } from 'node:crypto';
import { createZstdCompress, zstdCompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { registerZstd } from '#infra/kafka/client.ts';
import { zstdContentBytes } from '#infra/kafka/zstd.ts';

const LENGTHS = [0, 1, 255, 256, 257, 65_791, 65_792, 300_000];
const USUAL = 16_384;

test.each(LENGTHS)('a frame tells that its content is %i bytes long, and is read back', async (length) => {
  registerZstd();
  const codec = kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]?.();
  for (const content of [Buffer.alloc(length), randomBytes(length)]) {
    const frame = zstdCompressSync(content);
    expect(zstdContentBytes(frame)).toBe(length);
    expect(await codec?.decompress(frame)).toEqual(content);
  }
});

test('a frame that tells nothing is read back, and bytes that are none tell nothing', async () => {
  registerZstd();
  const codec = kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]?.();
  const content = Buffer.alloc(100_000, 'content');
  const stream = createZstdCompress();
  // Written in two pieces, so that the first frame head is written before the length is known.
  stream.write(content.subarray(0, 50_000));
  stream.end(content.subarray(50_000));
  const frame = Buffer.concat(await stream.toArray());
  expect(zstdContentBytes(frame)).toBe(USUAL);
  expect(await codec?.decompress(frame)).toEqual(content);
  expect([Buffer.alloc(0), Buffer.from('28b52ffda0', 'hex')].map(zstdContentBytes)).toEqual([USUAL, USUAL]);
});
