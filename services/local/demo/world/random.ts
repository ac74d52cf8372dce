import { createHash } from 'node:crypto';

/** A stream of pseudo-random draws; the same label always gives the same stream. */
export interface Random {
  /** Uniform in [0, 1), 32 bits of it random. */
  next(): number;
  /** Uniform whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
  /** Picks by weight; weights need not add up to anything in particular. */
  weigh<T>(choices: readonly Weighted<T>[]): T;
}
export type Weighted<T> = readonly [weight: number, value: T];

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/**
 * xoshiro128** 1.1 of David Blackman and Sebastiano Vigna ("Scrambled linear pseudorandom number generators", ACM
 * TOMS 47(4), 2021; reference code in the public domain at prng.di.unimi.it/xoshiro128starstar.c).
 *
 * @param state four 32-bit words, not all zero
 * @returns a function giving the next unsigned 32-bit word
 */
export function xoshiro128(state: readonly [number, number, number, number]): () => number {
  let [a, b, c, d] = state;
  return () => {
    const word = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return word;
  };
}

function weigh<T>(draw: number, choices: readonly Weighted<T>[]): T {
  let left = draw * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, value] of choices) {
    left -= weight;
    if (left < 0) return value;
  }
  throw new RangeError('nothing to choose from');
}

/** The stream that belongs to `label`, which says what is drawn and for whom, e.g. `7/visitor/12`. */
export function randomFor(label: string): Random {
  const seed = createHash('sha256').update(label).digest();
  const word = xoshiro128([seed.readUInt32LE(0), seed.readUInt32LE(4), seed.readUInt32LE(8), seed.readUInt32LE(12)]);
  const next = (): number => word() / 2 ** 32;
  const whole = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    whole,
    chance: (probability) => next() < probability,
    pick: <T>(choices: readonly T[]) => choices[whole(0, choices.length - 1)] as T,
    weigh: (choices) => weigh(next(), choices),
  };
}
