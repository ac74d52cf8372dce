// Seals secrets with keys of a ring; bound to where each is stored.
import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Where a secret belongs. A sealed value opens only in the place it was sealed for. */
export interface SecretPlace {
  siteId: string;
  destination: string;
  field: string;
}

/**
 * `secret_key_unknown`: the ring has no key of that id. `secret_key_wrong`: it has one of that id, but it is another key.
 * `secret_misplaced`: sealed for another site, destination or field. `secret_tampered`: changed after sealing.
 */
type OpenErrorCode =
  | 'secret_malformed'
  | 'secret_key_unknown'
  | 'secret_key_wrong'
  | 'secret_misplaced'
  | 'secret_tampered';

type OpenResult = { ok: true; value: string } | { ok: false; code: OpenErrorCode };

const NONCE_BYTES = 12;
const PLACE_BYTES = 8;
const CHECK_BYTES = 8;
const TAG_BYTES = 16;
const FINGERPRINT_BYTES = 8;
const HEADER_BYTES = FINGERPRINT_BYTES + PLACE_BYTES + CHECK_BYTES;
const BASE64URL_PATTERN = /^[A-Za-z0-9_-]+$/;

type Sealed = Exclude<ReturnType<typeof parseSealed>, { code: unknown }>;

/**
 * Seals a secret with the ring's first key: `KEYID.NONCE.CIPHERTEXT`, the last two in base64url. The third part is a
 * header, the AES-256-GCM ciphertext and its tag. Key id, site, destination, field and header are associated data.
 * The header (fingerprint of the key, digest of the place, a check over both) only serves to name what went wrong.
 *
 * @param randomBytes A source of unpredictable bytes: a nonce must never repeat under one key.
 */
export function sealSecret(
  ring: KeyRing,
  place: SecretPlace,
  value: string,
  randomBytes: (bytes: number) => Uint8Array,
): string {
  const key = ring.first;
  const nonce = Buffer.from(randomBytes(NONCE_BYTES));
  const header = headerOf(key, nonce, place);
  const cipher = createCipheriv('aes-256-gcm', key.encryptionKey, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData(key, place, header));
  const body = Buffer.concat([header, cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${key.keyId}.${nonce.toString('base64url')}.${body.toString('base64url')}`;
}

/** Opens a sealed secret in the place it was sealed for. Each failure has its own code and reveals nothing of the value. */
export function openSecret(ring: KeyRing, place: SecretPlace, sealedText: string): OpenResult {
  const parsed = parseSealed(ring, sealedText);
  if ('code' in parsed) return { ok: false, code: parsed.code };
  const value = decrypt(parsed, place);
  return value === null ? { ok: false, code: diagnose(parsed, place) } : { ok: true, value };
}

/** A destination as its secrets are sealed for it. */
interface SealedDestination {
  site_id: string;
  name: string;
  secrets: Readonly<Record<string, string>>;
}

/** The secrets of a destination that open; one that does not is missing, which its settings then say. */
export function openDestinationSecrets(
  ring: KeyRing,
  { site_id: siteId, name: destination, secrets }: SealedDestination,
  onUnopened: (field: string, code: OpenErrorCode) => void = () => undefined,
): Record<string, string> {
  const opened: Record<string, string> = {};
  for (const [field, sealed] of Object.entries(secrets)) {
    const result = openSecret(ring, { siteId, destination, field }, sealed);
    if (result.ok) opened[field] = result.value;
    else onUnopened(field, result.code);
  }
  return opened;
}

export type RecordSeal = ReturnType<typeof createRecordSeal>;

/** Seals what is kept where others write as well, so that what they wrote is told from what was kept. */
export function createRecordSeal(ring: KeyRing, randomBytes: (bytes: number) => Uint8Array) {
  const placeOf = (kind: string, id: string): SecretPlace => ({ siteId: '', destination: kind, field: id });
  const seal = (kind: string, id: string, text: string): string =>
    sealSecret(ring, placeOf(kind, id), text, randomBytes);
  function open(kind: string, id: string, sealed: string): string | null {
    const opened = openSecret(ring, placeOf(kind, id), sealed);
    return opened.ok ? opened.value : null;
  }
  return {
    /** Of a kind and an id, so that no record stands for another. */
    seal,
    /** Null where it was not sealed so. */
    open,
    /** Sealed with the ring's first key; as it is where it is so already, or does not open. */
    anew(kind: string, id: string, sealed: string): string {
      const text = sealed.startsWith(`${ring.first.keyId}.`) ? null : open(kind, id, sealed);
      return text === null ? sealed : seal(kind, id, text);
    },
  };
}

function parseSealed(ring: KeyRing, text: string) {
  const [keyId = '', nonceText = '', bodyText = '', ...rest] = text.split('.');
  const nonce = decodeBase64url(nonceText);
  const body = decodeBase64url(bodyText);
  const wellFormed = keyId !== '' && rest.length === 0 && nonce?.length === NONCE_BYTES;
  if (!wellFormed || body === null || body.length < HEADER_BYTES + TAG_BYTES)
    return { code: 'secret_malformed' as const };
  const key = ring.byId.get(keyId);
  if (key === undefined) return { code: 'secret_key_unknown' as const };
  return {
    key,
    nonce,
    header: body.subarray(0, HEADER_BYTES),
    ciphertext: body.subarray(HEADER_BYTES, -TAG_BYTES),
    tag: body.subarray(-TAG_BYTES),
  };
}

/** Buffer skips characters it cannot read, so several texts decode to the same bytes; only the canonical one is accepted. */
function decodeBase64url(text: string): Buffer | null {
  if (!BASE64URL_PATTERN.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}

function decrypt(sealed: Sealed, place: SecretPlace): string | null {
  const { key, nonce, header, ciphertext, tag } = sealed;
  const decipher = createDecipheriv('aes-256-gcm', key.encryptionKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(associatedData(key, place, header));
  decipher.setAuthTag(tag);
  const plain = decipher.update(ciphertext);
  try {
    return Buffer.concat([plain, decipher.final()]).toString('utf8');
  } catch {
    // Here final() only fails if the tag does not match.
    return null;
  }
}

/** Says why opening failed. If the check in the header is valid, the key is right and the header was not changed. */
function diagnose({ key, nonce, header }: Sealed, place: SecretPlace): OpenErrorCode {
  const placeDigest = header.subarray(FINGERPRINT_BYTES, FINGERPRINT_BYTES + PLACE_BYTES);
  const check = header.subarray(FINGERPRINT_BYTES + PLACE_BYTES);
  if (timingSafeEqual(check, checkOf(key, nonce, placeDigest))) {
    return placeDigest.equals(digestOf(place)) ? 'secret_tampered' : 'secret_misplaced';
  }
  const sameKey = timingSafeEqual(header.subarray(0, FINGERPRINT_BYTES), key.fingerprint);
  return sameKey ? 'secret_tampered' : 'secret_key_wrong';
}

function headerOf(key: SealingKey, nonce: Buffer, place: SecretPlace): Buffer {
  const placeDigest = digestOf(place);
  return Buffer.concat([key.fingerprint, placeDigest, checkOf(key, nonce, placeDigest)]);
}

function digestOf(place: SecretPlace): Buffer {
  return hash('sha256', placeText(place), 'buffer').subarray(0, PLACE_BYTES);
}

function checkOf(key: SealingKey, nonce: Buffer, placeDigest: Buffer): Buffer {
  return createHmac('sha256', key.checkKey).update(nonce).update(placeDigest).digest().subarray(0, CHECK_BYTES);
}

function associatedData(key: SealingKey, place: SecretPlace, header: Buffer): Buffer {
  return Buffer.concat([header, Buffer.from(`${JSON.stringify(key.keyId)}${placeText(place)}`)]);
}

/** As JSON, so that two places never have the same text. */
function placeText({ siteId, destination, field }: SecretPlace): string {
  return JSON.stringify([siteId, destination, field]);
}

type SealingKey = ReturnType<typeof deriveKey>;

export type KeyRing = ReturnType<typeof parseKeyRing>;

export const KEY_BYTES = 32;
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
export function parseKeyRing(text: string) {
  const byId = new Map<string, SealingKey>();
  for (const [index, entry] of text.split(',').entries()) {
    const key = parseKey(entry.trim(), index + 1);
    if (byId.has(key.keyId)) throw new KeyRingError(`key ${index + 1} repeats the id ${key.keyId}`);
    byId.set(key.keyId, key);
  }
  const [first] = byId.values();
  if (first === undefined) throw new KeyRingError('no key is configured');
  /** The first configured key seals; all of them open. */
  return { first, byId: byId as ReadonlyMap<string, SealingKey> };
}

function parseKey(entry: string, position: number): SealingKey {
  const [keyId = '', encoded = '', ...rest] = entry.split(':');
  if (rest.length > 0 || !KEY_ID_PATTERN.test(keyId)) throw new KeyRingError(`key ${position} is not id:base64`);
  if (!BASE64_PATTERN.test(encoded)) throw new KeyRingError(`key ${position} is not ${KEY_BYTES} bytes of base64`);
  return deriveKey(keyId, Buffer.from(encoded, 'base64'));
}

/** A key of the ring, with what is derived from it: the configured bytes themselves never encrypt anything. */
function deriveKey(keyId: string, bytes: Buffer) {
  const derive = (purpose: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', bytes, '', `svc secrets ${purpose}`, length));
  return {
    keyId,
    encryptionKey: derive('encryption', KEY_BYTES),
    checkKey: derive('check', KEY_BYTES),
    /** Tells two keys with the same id apart without revealing them. */
    fingerprint: derive('fingerprint', FINGERPRINT_BYTES),
  };
}

// The identity key, of which ids and keyed hashes are made, and the identity secret, which seals it and can be rotated.

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
