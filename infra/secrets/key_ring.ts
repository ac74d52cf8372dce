import { hkdfSync } from 'node:crypto';

/** A key of the ring, with what is derived from it: the configured bytes themselves never encrypt anything. */
export interface SealingKey {
  keyId: string;
  encryptionKey: Buffer;
  checkKey: Buffer;
  /** Tells two keys with the same id apart without revealing them. */
  fingerprint: Buffer;
}

/** The first configured key seals; all of them open. */
export interface KeyRing {
  first: SealingKey;
  byId: ReadonlyMap<string, SealingKey>;
}

export const KEY_BYTES = 32;
export const FINGERPRINT_BYTES = 8;
const KEY_ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;
const BASE64_PATTERN = /^[A-Za-z0-9+/_-]{43}=?$/;

/** A key ring that cannot be read. The message never holds key material. */
export class KeyRingError extends Error {
  readonly code = 'secrets_keys_malformed';
}

/**
 * Reads the configured keys, `id:base64,id2:base64`, 32 bytes each. To rotate, put the new key first and keep the old
 * one until everything sealed with it has been written again.
 *
 * @throws KeyRingError when there is no key, an id is repeated or malformed, or a key is not 32 bytes of base64.
 */
export function parseKeyRing(text: string): KeyRing {
  const byId = new Map<string, SealingKey>();
  for (const [index, entry] of text.split(',').entries()) {
    const key = parseKey(entry.trim(), index + 1);
    if (byId.has(key.keyId)) throw new KeyRingError(`key ${index + 1} repeats the id ${key.keyId}`);
    byId.set(key.keyId, key);
  }
  const [first] = byId.values();
  if (first === undefined) throw new KeyRingError('no key is configured');
  return { first, byId };
}

function parseKey(entry: string, position: number): SealingKey {
  const [keyId = '', encoded = '', ...rest] = entry.split(':');
  if (rest.length > 0 || !KEY_ID_PATTERN.test(keyId)) throw new KeyRingError(`key ${position} is not id:base64`);
  if (!BASE64_PATTERN.test(encoded)) throw new KeyRingError(`key ${position} is not ${KEY_BYTES} bytes of base64`);
  return deriveKey(keyId, Buffer.from(encoded, 'base64'));
}

function deriveKey(keyId: string, bytes: Buffer): SealingKey {
  const derive = (purpose: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', bytes, '', `svc secrets ${purpose}`, length));
  return {
    keyId,
    encryptionKey: derive('encryption', KEY_BYTES),
    checkKey: derive('check', KEY_BYTES),
    fingerprint: derive('fingerprint', FINGERPRINT_BYTES),
  };
}
