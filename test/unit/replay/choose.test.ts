import { expect, test } from 'vitest';
import { cutJobs } from '#pipelines/redelivery/replay.ts';
import { choose, isMeant, type Known } from '#pipelines/redelivery/resend.ts';
import { type EncodedEvent, encodeEvent } from '#schemas/event_batch.ts';
import type { Replay } from '#schemas/setting.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

function view(offset: number, siteId = 'shop', bytes = 100): EncodedEvent {
  return {
    coordinate: offset < 0 ? null : { partition: 1, offset, index: 0 },
    personBytes: Buffer.from([0]),
    eventBytes: Buffer.alloc(bytes),
    siteId,
    eventId: String(offset),
    distinctId: 'visitor',
    receivedAtMs: 0,
  };
}

const replay: Replay = {
  replay_id: 'r1',
  destination: 'meta',
  site_id: null,
  source: 'events',
  from: 0,
  to: 1,
  rate: 1,
  dry_run: false,
  force: false,
  wanted: 'running',
  created_at: 0,
};

const known = new Map<string, Known>([
  ['1/1/0', 'delivered'],
  ['1/2/0', 'pending'],
  ['1/3/0', 'open'],
  ['1/5/0', 'skipped'],
]);
const views = [1, 2, 3, 4, 5, -1].map((offset) => view(offset));

test('what is delivered and what waits on a lane is left out, and what was skipped is decided anew', () => {
  const { chosen, counts } = choose(views, false, known);
  expect(chosen.map(({ eventId }) => eventId)).toEqual(['3', '4', '5', '-1']);
  expect(counts).toEqual({ seen: 6, delivered: 1, pending: 1, unreadable: 0, chosen: 4, skipped_before: 1 });
});

test('a forced replay takes all', () => {
  const { counts } = choose(views, true, known);
  expect(counts).toEqual({ seen: 6, delivered: 0, pending: 0, unreadable: 0, chosen: 6, skipped_before: 0 });
});

test('only sites that have the destination are meant, and only the one that is asked for', () => {
  const has = (siteId: string): boolean => siteId !== 'without';
  const meant = (siteId: string, site_id: string | null): boolean =>
    isMeant({ ...replay, site_id }, view(1, siteId), has);
  expect([meant('shop', null), meant('without', null)]).toEqual([true, false]);
  expect([meant('shop', 'shop'), meant('other', 'shop')]).toEqual([true, false]);
});

test('events of the past are not meant, so that none is counted and written for nothing', () => {
  const meant = (historical: boolean): boolean =>
    isMeant(replay, { siteId: 'shop', eventBytes: encodeEvent(sampleEvent({ historical })) }, () => true);
  expect([meant(true), meant(false)]).toEqual([false, true]);
});

test('jobs are of one site, in order, and neither too many events nor too large', () => {
  const many = Array.from({ length: 1_001 }, (_, index) => view(index, index % 2 === 0 ? 'a' : 'b', 10));
  const jobs = cutJobs([...many, view(5_000, 'large', 100_000), view(5_001, 'large', 100_000)]);
  expect(jobs.map((job) => [job[0]?.siteId, job.length])).toEqual([
    ['a', 500],
    ['b', 500],
    ['a', 1],
    ['large', 1],
    ['large', 1],
  ]);
  expect(jobs.every((job) => job.every(({ siteId }) => siteId === job[0]?.siteId))).toBe(true);
});
