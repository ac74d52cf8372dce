import { expect, test } from 'vitest';
import { isReplayed } from '#pipelines/redelivery/replay.ts';
import { type EventOutcome, refusedAsIs, selectUndelivered } from '#pipelines/redelivery/resend.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import { shownDeadLetter } from '#test/unit/control/memory_letters.ts';

const viewAt = (offset: number, siteId = 'shop'): EncodedEvent => ({
  ...{ coordinate: { partition: 1, offset, index: 0 }, personBytes: Buffer.alloc(0), eventBytes: Buffer.alloc(0) },
  ...{ siteId, eventId: `event-${offset}`, distinctId: 'visitor', receivedAtMs: 1 },
});
const knownOf = (outcomes: Record<number, EventOutcome>): Map<string, EventOutcome> =>
  new Map(Object.entries(outcomes).map(([offset, outcome]) => [`1/${offset}/0`, outcome]));
const deadLetter = { died_at: 5 };
const outcome = (latest: string, latestAtMs = 6): EventOutcome => ({
  ...{ delivered: latest === 'delivered', latest, latestAtMs },
});
const delivered = outcome('delivered');
const diverted = outcome('diverted');
const dead = outcome('dead');
const everywhere = (): boolean => true;

test('of a letter goes what its destination has not taken and does not try by itself', () => {
  const views = [1, 2, 3, 4, 5].map((offset) => viewAt(offset));
  const known = knownOf({ 1: delivered, 2: diverted, 3: dead, 4: outcome('skipped') });
  const chosen = selectUndelivered(deadLetter, views, known, everywhere);
  expect(typeof chosen === 'string' ? chosen : chosen.map(({ eventId }) => eventId)).toEqual([
    ...['event-3', 'event-4', 'event-5'],
  ]);
});

test('of a letter goes what no lane took any more, though its attempt before that says that it waits', () => {
  const views = [1, 2, 3].map((offset) => viewAt(offset));
  const known = knownOf({ 1: outcome('diverted', 5), 2: outcome('paused', 4), 3: outcome('diverted', 6) });
  expect(selectUndelivered(deadLetter, views, known, everywhere)).toEqual(views.slice(0, 2));
});

test.for([
  ['delivered', [viewAt(1)], knownOf({ 1: { ...dead, delivered: true } })],
  ['waiting', [viewAt(1), viewAt(2)], knownOf({ 1: delivered, 2: diverted })],
  ['no_destination', [viewAt(1, 'former'), viewAt(2, 'other')], knownOf({})],
  ['no_destination', [viewAt(1), viewAt(2, 'other')], knownOf({ 1: delivered })],
  ['not_known', [viewAt(1)], null],
  ['unreadable', [], knownOf({})],
] as const)('nothing of it goes where it is %s', ([outcome, views, known]) => {
  expect(selectUndelivered(deadLetter, views, known, (siteId) => siteId === 'shop')).toBe(outcome);
});

test('of a letter of several sites goes what is of those that have the destination', () => {
  const views = [viewAt(1), viewAt(2, 'other')];
  expect(selectUndelivered(deadLetter, views, knownOf({}), (siteId) => siteId === 'shop')).toEqual(views.slice(0, 1));
});

test('a letter of a delivery can go by itself unless nobody knows where to, or it was cut', () => {
  const of = (change: object) =>
    refusedAsIs(shownDeadLetter(1, { stage: 'delivery', destination: 'crm', ...change }).deadLetter);
  expect([of({}), of({ destination: '' }), of({ bytes_total: 70_000 })]).toEqual([null, 'not_resendable', 'cut']);
});

test('a replay is in the way until it is over, also one whose command is not known yet', () => {
  const replays = [
    { replay_id: 'a', destination: 'crm' },
    { replay_id: 'b', destination: 'meta' },
  ];
  const phases = (phase: 'done' | 'sending', more: object = {}) =>
    new Map(Object.entries({ a: { phase }, ...more }) as [string, { phase: 'done' | 'sending' }][]);
  expect(isReplayed(replays, phases('sending'), 'crm')).toBe(true);
  expect(isReplayed(replays, phases('done'), 'crm')).toBe(false);
  expect(isReplayed(replays, phases('done'), 'meta')).toBe(true);
  expect(isReplayed(replays, phases('done', { c: { phase: 'sending' } }), 'crm')).toBe(true);
  expect(isReplayed(replays, phases('done', { c: { phase: 'done' } }), 'crm')).toBe(false);
});
