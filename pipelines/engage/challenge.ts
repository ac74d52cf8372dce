import { hash, timingSafeEqual } from 'node:crypto';
import { keyedHash } from '#pipelines/privacy/keyed_hash.ts';
import type { Proof } from './engage_request.ts';

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
  return keyedHash(secret, `challenge\0${submissionId}\0${salt}\0${challenge}`).toString('hex');
}
