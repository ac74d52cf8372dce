import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/**
 * HMAC-SHA256 of the message (RFC 2104), 32 bytes. Made from two one-shot hashes, because a `createHmac` object costs
 * more than ten times as much for messages this short.
 */
export function keyedHash(key: Buffer, message: string): Buffer {
  const block = key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key;
  const innerBytes = BLOCK_BYTES + Buffer.byteLength(message);
  const inner = Buffer.allocUnsafe(innerBytes);
  const outer = Buffer.allocUnsafe(BLOCK_BYTES + 32);
  for (let at = 0; at < BLOCK_BYTES; at += 1) {
    const byte = at < block.length ? block.readUInt8(at) : 0;
    inner[at] = byte ^ INNER_PAD;
    outer[at] = byte ^ OUTER_PAD;
  }
  inner.write(message, BLOCK_BYTES);
  hash('sha256', inner, 'buffer').copy(outer, BLOCK_BYTES);
  return hash('sha256', outer, 'buffer');
}
