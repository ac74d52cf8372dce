/** Chance that is the same for the same seed (mulberry32). */
export interface Chance {
  /** Uniform in [0, 1). */
  next(): number;
  /** A whole number from 0 to before `below`. */
  below(below: number): number;
  one<T>(from: readonly T[]): T;
  is(probability: number): boolean;
}

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    one<T>(from: readonly T[]): T {
      if (from.length === 0) throw new Error('nothing to choose from');
      return from[below(from.length)] as T;
    },
    is: (probability) => next() < probability,
  };
}
