import { expect, test } from 'vitest';
import { createProgressWatch, type PartitionProgress } from '#infra/kafka/consumer/lag_watch.ts';

const AT = { topic: 'events.raw', partition: 3 };
const LOOKS_MAX = 3;
const LOOKS = LOOKS_MAX + 2;

interface Look {
  progress: Partial<PartitionProgress>;
  end: { high: number; records: number };
  counts?: false;
}

/** What stood still at each look. */
function found(lookAt: (look: number) => Look): number[] {
  const watch = createProgressWatch(LOOKS_MAX);
  return Array.from({ length: LOOKS }, (_, look) => {
    const { progress, end, counts = true } = lookAt(look);
    const one = { ...AT, nextOffset: 5, steps: 0, isBusy: false, rests: false, ...progress };
    const still = watch.look([one], [{ ...AT, ...end }], counts);
    for (const at of still) expect(at).toEqual(AT);
    return still.length;
  });
}

const WAITS = { high: 9, records: 4 };
const NEVER = [0, 0, 0, 0, 0];
const AFTER_THREE = [0, 0, 0, 1, 1];

test.each<[string, (look: number) => Look, number[]]>([
  ['that is not read though records wait stands still', () => ({ progress: {}, end: WAITS }), AFTER_THREE],
  [
    'of which nothing was ever read stands still',
    () => ({ progress: { nextOffset: 0 }, end: { high: 4, records: 4 } }),
    AFTER_THREE,
  ],
  [
    'whose work does not end stands still, though nothing more waits',
    () => ({ progress: { nextOffset: 9, isBusy: true }, end: WAITS }),
    AFTER_THREE,
  ],
  ['that is read moves', (look) => ({ progress: { nextOffset: 5 + look }, end: { high: 99, records: 9 } }), NEVER],
  ['on which a long work goes on moves', (look) => ({ progress: { isBusy: true, steps: look }, end: WAITS }), NEVER],
  ['that waits for a time rests', () => ({ progress: { rests: true }, end: WAITS }), NEVER],
  ['without records waits for nothing', () => ({ progress: {}, end: { high: 5, records: 0 } }), NEVER],
  [
    'of which nothing was read since it was assigned, as all is committed, waits for nothing',
    () => ({ progress: { nextOffset: 0 }, end: { high: 5, records: 0 } }),
    NEVER,
  ],
  [
    'with markers of transactions behind the last record waits for nothing',
    () => ({ progress: { nextOffset: 9 }, end: { high: 9, records: 1 } }),
    NEVER,
  ],
  ['is not blamed while a part is away', () => ({ progress: {}, end: WAITS, counts: false }), NEVER],
  [
    'is looked at anew once the part is back',
    (look) => ({ progress: {}, end: WAITS, ...(look === 2 ? { counts: false } : {}) }),
    NEVER,
  ],
])('a partition %s', (_, lookAt, expected) => {
  expect(found(lookAt)).toEqual(expected);
});

test('a partition that was given away and came back is looked at anew', () => {
  const watch = createProgressWatch(1);
  const one = { ...AT, nextOffset: 5, steps: 0, isBusy: false, rests: false };
  const looks = [[one], [], [one], [one]].map((all) => watch.look(all, [{ ...AT, ...WAITS }], true).length);
  expect(looks).toEqual([0, 0, 0, 1]);
});
