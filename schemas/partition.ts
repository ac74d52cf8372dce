/** Partition choice as Java's default partitioner makes it: murmur2 of the key's UTF-8 bytes (Kafka's Utils.murmur2). */

const SEED = 0x9747b28c;
const MIX = 0x5bd1e995;

/** 32-bit murmur2 as Kafka computes it, as a signed integer. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  let hash = SEED ^ length;
  const blocks = length >> 2;
  for (let block = 0; block < blocks; block++) {
    const at = block * 4;
    let word =
      byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24);
    word = Math.imul(word, MIX);
    word ^= word >>> 24;
    word = Math.imul(word, MIX);
    hash = Math.imul(hash, MIX) ^ word;
  }
  return finish(mixTail(hash, bytes, blocks * 4));
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

function mixTail(hash: number, bytes: Uint8Array, from: number): number {
  const rest = bytes.length - from;
  if (rest === 0) return hash;
  let mixed = hash;
  if (rest === 3) mixed ^= byteAt(bytes, from + 2) << 16;
  if (rest >= 2) mixed ^= byteAt(bytes, from + 1) << 8;
  return Math.imul(mixed ^ byteAt(bytes, from), MIX);
}

function finish(hash: number): number {
  let mixed = hash;
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, MIX);
  mixed ^= mixed >>> 15;
  return mixed | 0;
}

/** Partition of a text key among `partitions`. */
export function partitionOf(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % partitions;
}

/** Partition of a visitor's events on events.raw and events.unique. */
export function visitorPartition(siteId: string, distinctId: string, partitions: number): number {
  return partitionOf(`${siteId}/${distinctId}`, partitions);
}

/** Partition of a person's events on events.identified. */
export function personPartition(siteId: string, personId: string, partitions: number): number {
  return partitionOf(`${siteId}/${personId}`, partitions);
}
