import { describe, expect, it } from 'vitest';
import { randomFor, xoshiro128 } from '#services/local/demo/world/random.ts';

// From the reference implementation in C, prng.di.unimi.it/xoshiro128starstar.c.
const REFERENCE = [
  {
    state: [1, 2, 3, 4],
    words: [11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804],
  },
  {
    state: [0xdeadbeef, 0x80000001, 0xffffffff, 7],
    words: [6336, 3132620587, 1159357836, 811105913, 2554611025, 790825146, 3799091088, 2342073261],
  },
] as const;

describe('xoshiro128', () => {
  it.each(REFERENCE)('gives the words of the reference implementation from $state', ({ state, words }) => {
    const next = xoshiro128(state);
    expect(words.map(() => next())).toEqual(words);
  });
});

describe('randomFor', () => {
  it('gives the same stream for the same label and another for another', () => {
    const draw = (label: string) =>
      Array.from(
        { length: 20 },
        (
          (random) => () =>
            random.next()
        )(randomFor(label)),
      );
    expect(draw('a')).toEqual(draw('a'));
    expect(draw('a')).not.toEqual(draw('b'));
  });

  it('draws whole numbers over the whole range, both ends included', () => {
    const random = randomFor('range');
    const drawn = new Set(Array.from({ length: 500 }, () => random.whole(3, 7)));
    expect(drawn).toEqual(new Set([3, 4, 5, 6, 7]));
  });

  it('weighs choices', () => {
    const random = randomFor('weights');
    const drawn = Array.from({ length: 4000 }, () =>
      random.weigh([
        [3, 'often'],
        [1, 'rarely'],
        [0, 'never'],
      ]),
    );
    expect(drawn.filter((choice) => choice === 'often').length / 4000).toBeCloseTo(0.75, 1);
    expect(drawn).not.toContain('never');
  });
});
