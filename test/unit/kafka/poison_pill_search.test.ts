import { expect, test } from 'vitest';
import { metadataOf, piecesOf, type Suspicion, suspicionOf } from '#infra/kafka/consumer/poison_pill_search.ts';

interface Taken {
  offset: number;
}

const offsets = (first: number, count: number): [Taken, ...Taken[]] => [
  { offset: first },
  ...Array.from({ length: count - 1 }, (_, index) => ({ offset: first + 1 + index })),
];

test('a process that dies at the same place takes records together, then few, then alone, then buries the first', () => {
  const seen: Suspicion[] = [];
  let metadata = '';
  for (let start = 0; start < 12; start++) {
    const [piece] = piecesOf(offsets(10, 4), suspicionOf(metadata));
    if (piece === undefined) throw new Error('nothing to take');
    seen.push(piece.suspicion);
    if (piece.suspicion.kind === 'bury') break;
    metadata = metadataOf(piece.suspicion);
  }
  expect(seen).toEqual([
    { kind: 'together', starts: 1, last: 13 },
    { kind: 'together', starts: 2, last: 13 },
    { kind: 'few', last: 11 },
    { kind: 'alone', starts: 1, last: 11 },
    { kind: 'alone', starts: 2, last: 11 },
    { kind: 'alone', starts: 3, last: 11 },
    { kind: 'alone', starts: 4, last: 11 },
    { kind: 'alone', starts: 5, last: 11 },
    { kind: 'alone', starts: 6, last: 11 },
    { kind: 'bury', last: 11 },
  ]);
});

test.for([1, 2, 3, 5, 10, 100, 1_000])('%i records that came together are few pieces, each of few', (count) => {
  const records = offsets(7, count);
  const pieces = piecesOf(records, { kind: 'few', last: 10_000 });
  expect(pieces.flatMap((piece) => piece.records)).toEqual(records);
  for (const piece of pieces) {
    expect(piece.records.length).toBeLessThanOrEqual(Math.ceil(Math.sqrt(count)));
    expect(piece.suspicion.last).toBe(piece.records.at(-1)?.offset);
    expect(piece.suspicion.kind).toBe(piece.records.length === 1 ? 'alone' : 'few');
  }
  expect(pieces.length).toBeLessThanOrEqual(Math.ceil(Math.sqrt(count)));
});

test('records behind a suspect are suspects by themselves, as it may have hidden them', () => {
  const pieces = piecesOf(offsets(3, 3), { kind: 'bury', last: 5 });
  expect(pieces.map(({ records, suspicion }) => [records[0]?.offset, suspicion])).toEqual([
    [3, { kind: 'bury', last: 5 }],
    [4, { kind: 'alone', starts: 1, last: 5 }],
    [5, { kind: 'alone', starts: 1, last: 5 }],
  ]);
});

test('what came after the first death is no suspect: the end of what was in hand is kept', () => {
  expect(suspicionOf('starts:1:40')).toEqual({ kind: 'together', starts: 2, last: 40 });
  expect(suspicionOf('starts:2:40')).toEqual({ kind: 'few', last: 40 });
});

test.each(['', 'plan:0-3', 'starts:', 'starts:x', 'alone:-1', 'few', 'starts:1:x'])(
  'metadata %j says nothing',
  (metadata) => {
    expect(suspicionOf(metadata)).toEqual({ kind: 'together', starts: 1, last: Number.POSITIVE_INFINITY });
  },
);
