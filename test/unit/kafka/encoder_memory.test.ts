import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { patchEncoderMemory } from '#infra/kafka/kafkajs_patches/client_patches.ts';

interface Encoder {
  buffer: Buffer;
  writeString(text: string): Encoder;
  writeBytes(bytes: Buffer): Encoder;
  writeEncoderArray(encoders: readonly Encoder[]): Encoder;
  writeEncoder(encoder: Encoder): Encoder;
}

const require = createRequire(import.meta.url);
const EncoderOfClient = require('kafkajs/src/protocol/encoder.js') as new () => Encoder;

/** A request as the client builds it: small encoders, large ones, and encoders made of encoders. */
function written(): Buffer {
  const sizes = [0, 1, 511, 512, 513, 4_096, 25_000, 70_000];
  const records = sizes.map((size) => new EncoderOfClient().writeBytes(Buffer.alloc(size, size % 251)));
  const list = new EncoderOfClient().writeString('before').writeEncoderArray(records).writeString('behind');
  return new EncoderOfClient().writeEncoder(list).writeEncoderArray([]).writeBytes(list.buffer).buffer;
}

test('a patched encoder writes what the client wrote before', () => {
  const before = Buffer.from(written());
  patchEncoderMemory();
  for (let round = 0; round < 20; round += 1) expect(written().equals(before)).toBe(true);
});
