import { expect, test } from 'vitest';
import { metadataOf, piecesOf, type SearchStep, searchStepOf } from '#infra/kafka/consumer/poison_pill_guard.ts';

interface Taken {
  offset: number;
}

const offsets = (first: number, count: number): [Taken, ...Taken[]] => [
  { offset: first },
  ...Array.from({ length: count - 1 }, (_, index) => ({ offset: first + 1 + index })),
];

test('a process that dies at the same place takes a batch, then few records, then one alone, then makes a dead letter of the first', () => {
  const seen: SearchStep[] = [];
  let metadata = '';
  for (let start = 0; start < 12; start++) {
    const [piece] = piecesOf(offsets(10, 4), searchStepOf(metadata));
    if (piece === undefined) throw new Error('nothing to take');
    seen.push(piece.step);
    if (piece.step.kind === 'dead_letter') break;
    metadata = metadataOf(piece.step);
  }
  expect(seen).toEqual([
    { kind: 'batch', starts: 1, last: 13 },
    { kind: 'batch', starts: 2, last: 13 },
    { kind: 'few', last: 11 },
    { kind: 'alone', starts: 1, last: 11 },
    { kind: 'alone', starts: 2, last: 11 },
    { kind: 'alone', starts: 3, last: 11 },
    { kind: 'alone', starts: 4, last: 11 },
    { kind: 'alone', starts: 5, last: 11 },
    { kind: 'alone', starts: 6, last: 11 },
    { kind: 'dead_letter', last: 11 },
  ]);
});

test.for([1, 2, 3, 5, 10, 100, 1_000])('%i records of one batch are few pieces, each of few', (count) => {
  const records = offsets(7, count);
  const pieces = piecesOf(records, { kind: 'few', last: 10_000 });
  expect(pieces.flatMap((piece) => piece.records)).toEqual(records);
  for (const piece of pieces) {
    expect(piece.records.length).toBeLessThanOrEqual(Math.ceil(Math.sqrt(count)));
    expect(piece.step.last).toBe(piece.records.at(-1)?.offset);
    expect(piece.step.kind).toBe(piece.records.length === 1 ? 'alone' : 'few');
  }
  expect(pieces.length).toBeLessThanOrEqual(Math.ceil(Math.sqrt(count)));
});

test('records behind a poison pill are each taken alone, as it may have hidden another', () => {
  const pieces = piecesOf(offsets(3, 3), { kind: 'dead_letter', last: 5 });
  expect(pieces.map(({ records, step }) => [records[0]?.offset, step])).toEqual([
    [3, { kind: 'dead_letter', last: 5 }],
    [4, { kind: 'alone', starts: 1, last: 5 }],
    [5, { kind: 'alone', starts: 1, last: 5 }],
  ]);
});

test('what came after the first death is not searched: the end of what was in work is kept', () => {
  expect(searchStepOf('starts:1:40')).toEqual({ kind: 'batch', starts: 2, last: 40 });
  expect(searchStepOf('starts:2:40')).toEqual({ kind: 'few', last: 40 });
});

test.each(['', 'plan:0-3', 'starts:', 'starts:x', 'alone:-1', 'few', 'starts:1:x'])(
  'metadata %j says nothing',
  (metadata) => {
    expect(searchStepOf(metadata)).toEqual({ kind: 'batch', starts: 1, last: Number.POSITIVE_INFINITY });
  },
);
