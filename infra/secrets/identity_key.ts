// The identity key, of which ids and keyed hashes are made, and the identity secret, which seals it and can be rotated.
import { hkdfSync } from 'node:crypto';
import { KEY_BYTES, type KeyRing, openSecret, parseKeyRing, type SecretPlace, sealSecret } from './seal.ts';

const PLACE: SecretPlace = { siteId: '', destination: 'identity', field: 'key' };

/** What processes are given: the secret, and the key sealed by it; null: the secret is the key itself, as before the first rotation. */
export interface IdentitySettings {
  /** 32 bytes or more. */
  secret: Buffer;
  key: string | null;
}

/** The identity key; null where the sealed one is of another secret. */
export function openIdentityKey({ secret, key }: IdentitySettings): Buffer | null {
  if (key === null) return secret;
  const opened = openSecret(ringOf(secret), PLACE, key);
  return opened.ok ? Buffer.from(opened.value, 'base64') : null;
}

/**
 * Another secret for the same key, so that everything that was made of the key stays as it is, whichever of the two a process has;
 * null where the sealed key is of another secret.
 */
export function rotateIdentitySecret(
  current: IdentitySettings,
  randomBytes: (bytes: number) => Uint8Array,
): { secret: string; key: string } | null {
  const key = openIdentityKey(current);
  if (key === null) return null;
  const secret = Buffer.from(randomBytes(KEY_BYTES));
  return {
    secret: secret.toString('base64'),
    key: sealSecret(ringOf(secret), PLACE, key.toString('base64'), randomBytes),
  };
}

/** The secret seals nothing itself, as it may still be the key. */
function ringOf(secret: Buffer): KeyRing {
  const sealing = hkdfSync('sha256', secret, '', 'svc.identity.key.v1', KEY_BYTES);
  return parseKeyRing(`identity:${Buffer.from(sealing).toString('base64')}`);
}
