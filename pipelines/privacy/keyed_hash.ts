import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

interface Pads {
  inner: Buffer;
  outer: Buffer;
}

/** Of each key, which is the same for many messages. */
const padsOfKey = new WeakMap<Buffer, Pads>();

/**
 * HMAC-SHA256 of the message (RFC 2104), 32 bytes. Made from two one-shot hashes, because a `createHmac` object costs
 * more than ten times as much for messages this short.
 *
 * @param key Not to be changed once it was used.
 */
export function hmacSha256(key: Buffer, message: string): Buffer {
  const pads = padsOf(key);
  const inner = Buffer.allocUnsafe(BLOCK_BYTES + Buffer.byteLength(message));
  pads.inner.copy(inner);
  inner.write(message, BLOCK_BYTES);
  const outer = Buffer.allocUnsafe(BLOCK_BYTES + HASH_BYTES);
  pads.outer.copy(outer);
  hash('sha256', inner, 'buffer').copy(outer, BLOCK_BYTES);
  return hash('sha256', outer, 'buffer');
}

function padsOf(key: Buffer): Pads {
  const known = padsOfKey.get(key);
  if (known !== undefined) return known;
  const block = Buffer.alloc(BLOCK_BYTES);
  (key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key).copy(block);
  const pads = { inner: padded(block, INNER_PAD), outer: padded(block, OUTER_PAD) };
  padsOfKey.set(key, pads);
  return pads;
}

const padded = (block: Buffer, pad: number): Buffer => Buffer.from(block.map((byte) => byte ^ pad));
