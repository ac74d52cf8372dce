import { createHmac, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from './random_text.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const SECRET_BYTES = 20;
const STEP_S = 30;
const DIGITS = 6;
const CODE_PATTERN = /^\d{6}$/;
/** Clocks of phones are off by up to a step. */
const STEPS_AROUND = [0, -1, 1];

/** A secret for a second factor, in base32 as apps take it. */
export function newTotpSecret(randomBytes: RandomBytes): string {
  return base32(randomBytes(SECRET_BYTES));
}

/** What an app reads from a QR code (Key URI format). */
export function totpUri(secret: string, issuer: string, userId: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(userId)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}

export const isTotpCode = (text: string): boolean => CODE_PATTERN.test(text);

/** The step whose code it is, now or one before or after; null: it is none. A step's code may be used once. */
export function totpStep(secret: string, code: string, nowMs: number): number | null {
  if (!isTotpCode(code)) return null;
  const now = Math.floor(nowMs / 1000 / STEP_S);
  const found = STEPS_AROUND.map((offset) => now + offset).filter((step) =>
    timingSafeEqual(Buffer.from(totpCode(secret, step)), Buffer.from(code)),
  );
  return found[0] ?? null;
}

/** The code of a step: RFC 6238 over the HMAC-SHA-1 of RFC 4226. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0xf;
  const number = (digest.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}

export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

function fromBase32(text: string): Buffer {
  const bits = text.replaceAll(/./g, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0'));
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}
