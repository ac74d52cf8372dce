import { expect, test } from 'vitest';
import { DEAD_LETTER_DAYS, EVENT_RECORD_DAYS } from '#infra/kafka/topics.ts';
import {
  BATCH_MAX,
  batchOf,
  finished,
  isRoomFor,
  keptOf,
  newErasure,
  newSiteErasure,
  nextBatch,
  phaseOf,
  RECEIPT_DAYS,
  restUntil,
  SUPPRESSED_DAYS,
  standsFor,
  UNOPENED,
  withErased,
} from '#pipelines/erasure/erasure.ts';
import { CLOCK_DIFFERENCE_MS } from '#pipelines/erasure/suppression.ts';
import type { Erasure } from '#schemas/records.ts';

const DAY_MS = 86_400_000;

function erasure(erasure_id: string, atMs: number, changes: Partial<Erasure> = {}): Erasure {
  const asked = { erasure_id, site_id: 'shop', asked_by: 'tester', destinations: [], sealed: 'sealed' };
  return { ...newErasure(asked, Buffer.alloc(32), { persons: ['p'], identifiers: [] }, atMs), ...changes };
}

const idsOf = (batch: readonly Erasure[]): string[] => batch.map(({ erasure_id }) => erasure_id);

test('erasures that wait go together, the oldest first; a batch that was begun goes on without those that came since', () => {
  const waiting = nextBatch([erasure('b', 2), erasure('a', 1), erasure('c', 3, { phase: 'done' })]);
  expect(idsOf(waiting)).toEqual(['a', 'b']);
  expect(nextBatch([...waiting, erasure('d', 0)])).toEqual(waiting);
  const many = Array.from({ length: BATCH_MAX + 1 }, (_, at) => erasure(`e${at}`, at));
  expect(nextBatch(many)).toHaveLength(BATCH_MAX);
  expect(nextBatch([])).toEqual([]);
});

test('what nobody can open is left out of a batch, also of one that was begun, and what it suppresses goes after its days', () => {
  const unopened = { detail: UNOPENED, batch: 'b', updated_at: 10 };
  const batch = [erasure('a', 1, unopened), erasure('b', 2, { batch: 'b' })];
  expect([idsOf(nextBatch(batch)), idsOf(batchOf(batch, 'b'))]).toEqual([['b'], ['b']]);
  const [first] = batch as [Erasure];
  expect(keptOf(first, 10 + SUPPRESSED_DAYS * DAY_MS)).toBe(first);
  expect(keptOf(first, 11 + SUPPRESSED_DAYS * DAY_MS)).toMatchObject({ persons: [] });
  expect(keptOf(first, 11 + RECEIPT_DAYS * DAY_MS)).toBeNull();
});

test('after rows were deleted no batch begins for as long as that took, and at most for six hours', () => {
  expect([restUntil(10, 30), restUntil(0, DAY_MS)]).toEqual([50, DAY_MS + DAY_MS / 4]);
  const begun = erasure('a', 1, { batch: 'a' });
  expect(idsOf(nextBatch([begun, erasure('b', 2)], true))).toEqual(['a']);
  expect(nextBatch([erasure('b', 2)], true)).toEqual([]);
});

test('a batch goes on where the one is that has grown', () => {
  const at = (phase: Erasure['phase']) => erasure(phase, 1, { phase });
  expect(phaseOf([at('deleting'), at('suppressing'), at('draining')])).toBe('suppressing');
  expect(phaseOf([at('deleting'), at('draining')])).toBe('draining');
  expect(phaseOf([])).toBeUndefined();
});

const LAST_MS = 1 + CLOCK_DIFFERENCE_MS;

test.for<[what: string, underWay: Partial<Erasure>, asked: string[][], atMs: number, stands: boolean]>([
  ['the same person', {}, [['p'], []], LAST_MS + 1, true],
  ['a person and an identifier that it has', {}, [['p'], ['i']], LAST_MS, true],
  ['an identifier that may have been said since', {}, [['p'], ['i']], LAST_MS + 1, false],
  ['a person it does not know', {}, [['p', 'q'], []], 1, false],
  ['an identifier it does not know', {}, [['p'], ['j']], 1, false],
  ['a person of another site', { site_id: 'other' }, [['p'], []], 1, false],
  ['what nobody can open', { detail: UNOPENED }, [['p'], []], 1, false],
  ['what is over', { phase: 'done' }, [['p'], []], 1, false],
])('an erasure under way does or does not do what is asked for anew: %s', ([, changes, asked, atMs, stands]) => {
  const underWay = erasure('a', 1, { persons: ['p', 'p2'], identifiers: ['i'], ...changes });
  const [persons = [], identifiers = []] = asked;
  expect(standsFor(underWay, { site_id: 'shop', persons, identifiers }, atMs)).toBe(stands);
});

test('one site fills no room that others need for their erasures', () => {
  const one = erasure('a', 1);
  const all = new Map(Array.from({ length: 25_000 }, (_, at) => [`e${at}`, one]));
  expect([isRoomFor('shop', all), isRoomFor('other', all)]).toEqual([false, true]);
  all.delete('e0');
  expect(isRoomFor('shop', all)).toBe(true);
  const full = new Map(Array.from({ length: 100_000 }, (_, at) => [`e${at}`, erasure('a', 1, { site_id: `s${at}` })]));
  expect(isRoomFor('new', full)).toBe(false);
});

test('a site is erased apart from persons, and its id is free again once nothing of it can come any more', () => {
  const asked = { erasure_id: 's', site_id: 'shop', account_id: 'acme', asked_by: 'tester', destinations: [] };
  const site = newSiteErasure(asked, 0);
  expect(idsOf(nextBatch([site, erasure('a', 1)]))).toEqual(['a']);
  const done = finished(site, 10);
  expect(keptOf(done, 10 + SUPPRESSED_DAYS * DAY_MS)).toBe(done);
  const over = keptOf(done, 11 + SUPPRESSED_DAYS * DAY_MS) as Erasure;
  expect(over.site).toEqual({ account_id: 'acme', is_suppressed: false });
  expect(keptOf(over, 12 + SUPPRESSED_DAYS * DAY_MS)).toBe(over);
});

test('a receipt keeps the most that was found in a place, as it is counted again after a part of it was deleted', () => {
  const counted = withErased(erasure('a', 1), [{ place: 'event_rows', count: 7 }]);
  const again = withErased(counted, [
    { place: 'event_rows', count: 2 },
    { place: 'redis', count: 1 },
  ]);
  expect(again.erased).toEqual([
    { place: 'event_rows', count: 7 },
    { place: 'redis', count: 1 },
  ]);
});

test('a receipt has nothing of whom it was but what suppresses, that goes after its days, and the receipt after its own', () => {
  const done = finished(erasure('a', 1), 10);
  expect(done).toMatchObject({ sealed: null, phase: 'done', done_at: 10 });
  expect(keptOf(done, 10 + SUPPRESSED_DAYS * DAY_MS)).toBe(done);
  expect(keptOf(done, 11 + SUPPRESSED_DAYS * DAY_MS)).toMatchObject({ persons: [], identifiers: [], phase: 'done' });
  expect(keptOf(done, 11 + RECEIPT_DAYS * DAY_MS)).toBeNull();
  const open = erasure('a', 1);
  expect(keptOf(open, RECEIPT_DAYS * DAY_MS * 2)).toBe(open);
});

test('events are dropped for longer than anything could bring them back: a dead letter that is sent in again last', () => {
  expect(SUPPRESSED_DAYS).toBeGreaterThan(DEAD_LETTER_DAYS + EVENT_RECORD_DAYS);
});
