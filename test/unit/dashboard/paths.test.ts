import { expect, test } from 'vitest';
import { bandOf, pathLayout, pathsQuestion, readPaths } from '#services/dashboard/src/pages/paths/paths_draft.ts';

const value = (name: string, paths: number) => ({ value: name, paths, begins: 0, ends: 0, goes_on: 0 });

test('paths go through an address, without an anchor that has no text yet', () => {
  const asked = { through: 'purchase', by: { property: ['page'] }, window_ms: 60_000, steps: 3, top: 5 };
  expect(pathsQuestion(readPaths(asked))).toEqual(asked);
  expect(pathsQuestion({ ...readPaths(null), anchor: { kind: 'through', text: '' } })).toEqual({ steps: 4, top: 6 });
});

test('values are as wide as there is room for, and no wider than names take', () => {
  const place = { values: [value('a', 10)], other: null };
  const answer = { paths: 10, places: [0, 1, 2].map((at) => ({ place: at, ...place })), edges: [] };
  const widths = (roomPx: number) => [pathLayout(answer, roomPx).nodes[0]?.width, pathLayout(answer, roomPx).width];
  expect([0, 1_000, 3_000].map(widths)).toEqual([
    [168, 664],
    [280, 1_000],
    [336, 1_168],
  ]);
});

test('ways leave and arrive within their values, one below the other', () => {
  const layout = pathLayout({
    paths: 10,
    places: [
      { place: 0, values: [value('a', 10)], other: null },
      { place: 1, values: [value('b', 6)], other: { ...value('', 4), values: 3 } },
    ],
    edges: [
      { place: 0, from: 'a', to: null, paths: 4 },
      { place: 0, from: 'a', to: 'b', paths: 6 },
      { place: 0, from: 'gone', to: 'b', paths: 1 },
    ],
  });
  expect(layout.nodes.map(({ value: name, x, y, height }) => [name, x, y, height])).toEqual([
    ['a', 0, 0, 200],
    ['b', 248, 0, 120],
    [null, 248, 132, 80],
  ]);
  expect(layout.links.map(({ to, fromY, toY, height }) => [to.value, fromY, toY, height])).toEqual([
    ['b', 0, 0, 120],
    [null, 120, 132, 80],
  ]);
  expect(layout).toMatchObject({ width: 416, height: 212 });
  expect(layout.links.map(bandOf)[0]).toBe('M168,0C208,0 208,0 248,0V120C208,120 208,120 168,120Z');
});
