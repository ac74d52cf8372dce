// Proofs that come with a submission: the token of what was shown, and a solved challenge.

import { hash, timingSafeEqual } from 'node:crypto';
import { hmacSha256 } from '#pipelines/privacy/keyed_hash.ts';
import type { Proof } from './engage_request.ts';
import type { ItemName } from './visitor_memory.ts';

/** Proves that an item was handed out, by which edge ever, and when; nothing of it is kept. */
export const TOKEN_MS = 24 * 3_600_000;
/** What waited for a connection, or stood open in a tab, may come so late; then its token proves that it is ours alone. */
export const OLD_TOKEN_MS = 7 * 24 * 3_600_000;
/** Clocks of two edges may differ by so much: one that is behind sees a token before its time. */
export const AHEAD_MS = 60_000;
const MAC_BYTES = 16;
const TOKEN = /^([0-9a-z]{1,10})\.([A-Za-z0-9_-]{12})\.([A-Za-z0-9_-]{22})$/;

/** What a token is for. */
interface TokenSubject {
  siteId: string;
  name: ItemName;
  version: number;
}

export type TokenCheck =
  /** `nonce` is the token's own: no other has it. */
  | { ok: true; issuedMs: number; nonce: string }
  | { ok: false; code: 'token_missing' | 'token_forged' }
  /** `nonce`: of a token that is up to a week old; null: older, or from the future. */
  | { ok: false; code: 'token_expired'; nonce: string | null };

/** @param nonce 12 characters of base64url, at random. */
export function issueEngageToken(secret: Buffer, subject: TokenSubject, nowMs: number, nonce: string): string {
  const issued = nowMs.toString(36);
  return `${issued}.${nonce}.${macOf(secret, subject, issued, nonce).toString('base64url')}`;
}

export function checkEngageToken(secret: Buffer, subject: TokenSubject, token: string, nowMs: number): TokenCheck {
  if (token === '') return { ok: false, code: 'token_missing' };
  const [, issued = '', nonce = '', mac = ''] = TOKEN.exec(token) ?? [];
  const given = Buffer.from(mac, 'base64url');
  if (given.length !== MAC_BYTES) return { ok: false, code: 'token_forged' };
  if (!timingSafeEqual(given, macOf(secret, subject, issued, nonce))) return { ok: false, code: 'token_forged' };
  const issuedMs = Number.parseInt(issued, 36);
  const ageMs = nowMs - issuedMs;
  if (ageMs > TOKEN_MS || ageMs < -AHEAD_MS) {
    return { ok: false, code: 'token_expired', nonce: ageMs > TOKEN_MS && ageMs <= OLD_TOKEN_MS ? nonce : null };
  }
  return { ok: true, issuedMs, nonce };
}

/** What tells a token of ours from every other, also where it is up to a week old; null: it is none that counts. */
export function nonceOf(check: TokenCheck): string | null {
  return 'nonce' in check ? check.nonce : null;
}

function macOf(secret: Buffer, { siteId, name, version }: TokenSubject, issued: string, nonce: string): Buffer {
  return hmacSha256(secret, `token\0${siteId}\0${name}\0${version}\0${issued}\0${nonce}`).subarray(0, MAC_BYTES);
}

/** Numbers that a browser has to try at most: some 0.2 s of one core. */
const NUMBER_MAX = 100_000;
const CHALLENGE_MS = 10 * 60_000;

/** What a browser has to solve: find the number for which SHA-256 of salt and number is the challenge (ALTCHA's scheme). */
export interface Challenge {
  algorithm: 'SHA-256';
  salt: string;
  challenge: string;
  maxnumber: number;
  signature: string;
}

/** @param random 16 bytes. It is for one submission, and for ten minutes. */
export function makeChallenge(secret: Buffer, submissionId: string, nowMs: number, random: Buffer): Challenge {
  const salt = `${(nowMs + CHALLENGE_MS).toString(36)}.${random.subarray(4).toString('base64url')}`;
  const number = random.readUInt32BE(0) % (NUMBER_MAX + 1);
  const challenge = digestOf(salt, number);
  return {
    algorithm: 'SHA-256',
    salt,
    challenge,
    maxnumber: NUMBER_MAX,
    signature: sign(secret, submissionId, salt, challenge),
  };
}

/** Whether a challenge of ours was solved for this submission. */
export function isSolved(secret: Buffer, submissionId: string, proof: Proof | undefined, nowMs: number): boolean {
  if (proof === undefined) return false;
  const { salt, challenge, signature, number } = proof;
  const untilMs = Number.parseInt(salt.split('.', 1)[0] ?? '', 36);
  if (!(nowMs <= untilMs) || digestOf(salt, number) !== challenge) return false;
  const [given, right] = [Buffer.from(signature), Buffer.from(sign(secret, submissionId, salt, challenge))];
  return given.length === right.length && timingSafeEqual(given, right);
}

const digestOf = (salt: string, number: number): string => hash('sha256', `${salt}${number}`, 'hex');

function sign(secret: Buffer, submissionId: string, salt: string, challenge: string): string {
  return hmacSha256(secret, `challenge\0${submissionId}\0${salt}\0${challenge}`).toString('hex');
}
