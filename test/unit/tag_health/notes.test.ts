import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, newNotes, noteEvent, type Signs } from '#pipelines/tag/tag_health.ts';

const AT_MS = 20_000 * DAY_MS;
const signs = (changes: Partial<Signs> = {}): Signs => ({ page: null, definition: null, reported: null, ...changes });

test('events are counted by hour, pages and definitions by when they were last seen', () => {
  const notes = newNotes();
  noteEvent(notes, signs({ page: 'a/', definition: 'buy' }), AT_MS);
  noteEvent(notes, signs({ page: 'b/' }), AT_MS + 1);
  noteEvent(notes, signs({ page: 'a/', definition: 'buy' }), AT_MS + HOUR_MS);
  expect(notes).toEqual({
    lastMs: AT_MS + HOUR_MS,
    hours: new Map([
      [480_000, 2],
      [480_001, 1],
    ]),
    pages: new Map([
      ['b/', AT_MS + 1],
      ['a/', AT_MS + HOUR_MS],
    ]),
    fired: new Map([['buy', { count: 2, firstMs: AT_MS, lastMs: AT_MS + HOUR_MS }]]),
    reported: new Map(),
  });
});

test('what tags report is added up by day', () => {
  const notes = newNotes();
  const reported = { retried: 2, dropped: 0, rejected: 1, blocked: 0 };
  noteEvent(notes, signs({ reported }), AT_MS);
  noteEvent(notes, signs({ reported }), AT_MS + 1);
  expect(notes.reported).toEqual(
    new Map([
      ['20000:retried', 4],
      ['20000:rejected', 2],
    ]),
  );
});

test('200 pages are remembered, those that sent last', () => {
  const notes = newNotes();
  for (let page = 0; page < 201; page += 1) noteEvent(notes, signs({ page: `shop.example/${page}` }), AT_MS + page);
  expect(notes.pages.size).toBe(200);
  expect(notes.pages.has('shop.example/0')).toBe(false);
});

test('200 definitions are remembered, and one known goes on', () => {
  const notes = newNotes();
  for (let id = 0; id < 300; id += 1) noteEvent(notes, signs({ definition: String(id) }), AT_MS);
  noteEvent(notes, signs({ definition: '0' }), AT_MS);
  expect(notes.fired.size).toBe(200);
  expect(notes.fired.get('0')?.count).toBe(2);
});
