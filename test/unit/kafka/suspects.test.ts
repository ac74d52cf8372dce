import { expect, test } from 'vitest';
import { metadataOf, type Suspicion, suspicionOf } from '#infra/kafka/suspects.ts';

test('a process that dies at the same place takes records together, then one by one, then buries the first', () => {
  const seen: Suspicion[] = [];
  let metadata = '';
  for (let start = 0; start < 12; start++) {
    const suspicion = suspicionOf(metadata);
    seen.push(suspicion);
    if (suspicion.kind === 'bury') break;
    metadata = metadataOf(suspicion);
  }
  expect(seen).toEqual([
    { kind: 'together', starts: 1 },
    { kind: 'together', starts: 2 },
    { kind: 'alone', starts: 1 },
    { kind: 'alone', starts: 2 },
    { kind: 'alone', starts: 3 },
    { kind: 'alone', starts: 4 },
    { kind: 'alone', starts: 5 },
    { kind: 'alone', starts: 6 },
    { kind: 'bury' },
  ]);
});

test.each(['', 'plan:0-3', 'starts:', 'starts:x', 'alone:-1'])('metadata %j says nothing', (metadata) => {
  expect(suspicionOf(metadata)).toEqual({ kind: 'together', starts: 1 });
});
