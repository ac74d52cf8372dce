import { expect, test } from 'vitest';
import { dedupKey, deduplicate, positionOfKey, type RawEntry } from '#pipelines/dedup/dedup.ts';
import { createMemoryClaims } from '#test/contract/claims/memory_claims.ts';

const NOW_MS = Date.UTC(2026, 9, 1);

function entry(siteId: string, eventId: string, offset: number, index = 0): RawEntry {
  const empty = Buffer.alloc(0);
  const rest = { coordinate: null, personBytes: empty, eventBytes: empty, distinctId: '', receivedAtMs: NOW_MS };
  return { view: { ...rest, siteId, eventId }, coordinate: { partition: 0, offset, index }, recordOffset: offset };
}

const idsOf = (entries: readonly RawEntry[]): string[] =>
  entries.map(({ view, coordinate }) => `${view.siteId}/${view.eventId}@${coordinate.offset}.${coordinate.index}`);

test('the first of each id passes, within a batch and over batches, and the rest are counted', async () => {
  const claims = createMemoryClaims(1_000);
  const first = [entry('s', 'a', 0), entry('s', 'b', 0, 1), entry('s', 'a', 1), entry('t', 'a', 1, 1)];
  const passed = ['s/a@0.0', 's/b@0.1', 't/a@1.1'];
  const one = await deduplicate(first, claims, 3);
  expect({ ids: idsOf(one.passed), duplicates: one.dropped.length }).toEqual({ ids: passed, duplicates: 1 });
  const again = await deduplicate(first, claims, 3);
  expect({ ids: idsOf(again.passed), duplicates: again.dropped.length }).toEqual({ ids: passed, duplicates: 1 });
  expect(one.dropped).toEqual([{ entry: first[2], first: { partition: 0, offset: 0, index: 0 } }]);
  const later = await deduplicate([entry('s', 'a', 9), entry('s', 'c', 9)], claims, 3);
  expect({ ids: idsOf(later.passed), duplicates: later.dropped.length }).toEqual({ ids: ['s/c@9.0'], duplicates: 1 });
});

test('a claim is a bucket of the wanted size, a short field and the coordinate', () => {
  const coordinate = { partition: 3, offset: 12, index: 5 };
  const claim = dedupKey('shop', 'id', coordinate, 3);
  expect(claim).toEqual({
    bucket: expect.stringMatching(/^[\w-]{3}$/),
    field: expect.stringMatching(/^[\w-]{12}$/),
    coordinate: '3:c:5',
  });
  expect(dedupKey('shop', 'id', { ...coordinate, offset: 13 }, 3)).toMatchObject({
    bucket: claim.bucket,
    field: claim.field,
  });
  expect(dedupKey('shop\nid', '', coordinate, 3).field).not.toBe(claim.field);
});

test('the text of a claim is the coordinate again, and any other is an error', () => {
  const coordinate = { partition: 3, offset: 123_456_789_012, index: 49 };
  expect(positionOfKey(dedupKey('shop', 'id', coordinate, 3).coordinate)).toEqual(coordinate);
  for (const text of ['', '3', '3:c', '3:c:', '3:c:5:6', '3:-1:5', '3:C:5'])
    expect(() => positionOfKey(text)).toThrow(expect.objectContaining({ code: 'stored_data_unreadable' }));
});
