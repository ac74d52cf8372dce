import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type OpenShowing, openKept } from '#services/tag/src/engage/reports.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 25);
let kept: Map<string, string>;
beforeEach(() => {
  kept = new Map();
  vi.useFakeTimers({ now: NOW_MS });
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const opened = (hours: number): OpenShowing =>
  ({ id: `o${hours}`, path: '/', isLeft: true, shownMs: NOW_MS - hours * HOUR_MS }) as OpenShowing;
const report = (days: number): [string, string] => [
  'form',
  JSON.stringify({ day: days, timestamp: new Date(NOW_MS - days * 24 * HOUR_MS).toISOString() }),
];
const keep = (memory: object): unknown => kept.set('svc_e', JSON.stringify(memory));
const now = (): unknown => JSON.parse(kept.get('svc_e') ?? 'null');

test.for([
  ['long ago', 1],
  ['by a clock that was ahead', -1],
] as const)('what was filled in or open %s is removed by the next page', ([, sign]) => {
  keep({ visitor: 'A', open: [opened(23 * sign), opened(25 * sign)], waiting: [report(6 * sign), report(9 * sign)] });
  openKept('A', () => true);
  expect(now()).toEqual({ visitor: 'A', seen: {}, open: [opened(23 * sign)], waiting: [report(6 * sign)] });
});

test('what waits on a page that stays open is removed when its time is over', () => {
  const mine = openKept('A', () => true);
  mine.keepWaiting_([report(0)]);
  vi.setSystemTime(NOW_MS + 8 * 24 * HOUR_MS);
  mine.note({});
  expect([mine.waiting(), now()]).toEqual([[], { visitor: 'A', seen: {}, open: [], waiting: [] }]);
});

test('what another visitor left is removed, and where nothing was kept nothing is', () => {
  openKept('A', () => true);
  expect(now()).toBeNull();
  keep({ visitor: 'A', seen: { 'form:f': { n: 1, last: 1 } }, waiting: [report(1)] });
  openKept('B', () => true);
  expect(now()).toEqual({ visitor: 'B', seen: {}, open: [], waiting: [] });
});

test('once the visitor refuses or is another, nothing more is kept or read of them', () => {
  let isTheirs = true;
  const mine = openKept('A', () => isTheirs);
  mine.keepWaiting_([report(0)]);
  isTheirs = false;
  kept.clear();
  mine.keepOpen_('o1', opened(1));
  mine.note({ 'form:f': { n: 1, last: 1 } });
  mine.keepWaiting_([report(0)]);
  expect(now()).toBeNull();
});

test('where nothing may be kept in the browser the page remembers', () => {
  const mine = openKept(undefined, () => true);
  mine.note({ 'form:f': { n: 1, last: 1 } });
  mine.keepWaiting_([report(0)]);
  expect([now(), mine.seen(), mine.waiting()]).toEqual([null, { 'form:f': { n: 1, last: 1 } }, [report(0)]]);
});
