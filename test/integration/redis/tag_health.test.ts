import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { createTagReporter, readTagRecord } from '#infra/redis/edge_reports.ts';
import { DAY_MS, HOUR_MS, newNotes, noteEvent, type Signs, type TagNotes } from '#pipelines/tag/tag_health.ts';
import { useRedis } from '#test/harness/redis.ts';
import { redisByClock } from '#test/harness/redis_clock.ts';

const NOW_MS = 20_000 * DAY_MS;
const HOUR = NOW_MS / HOUR_MS;

const redis = useRedis();
let siteId: string;
beforeEach(() => {
  siteId = `test-${randomUUID()}`;
});

let number = 0;
const note = (site: string, notes: TagNotes, again = ++number) =>
  createTagReporter(
    redisByClock(redis(), () => NOW_MS),
    'edge-1',
  )(site, notes, again);

const notesOf = (...events: [Partial<Signs>, number][]): TagNotes => {
  const notes = newNotes();
  for (const [signs, atMs] of events)
    noteEvent(notes, { page: null, definition: null, reported: null, ...signs }, atMs);
  return notes;
};
const read = () => readTagRecord(redis(), siteId);

test('of a site that nothing is known of, nothing is told', async () => {
  expect(await read()).toEqual({ lastMs: null, hours: new Map(), pages: [], fired: new Map(), reported: new Map() });
});

test('what several edges saw is one record, in whatever order it comes', async () => {
  await note(siteId, notesOf([{ page: 'a/' }, NOW_MS + 5], [{ page: 'b/' }, NOW_MS + 6]));
  await note(siteId, notesOf([{ page: 'a/' }, NOW_MS - HOUR_MS], [{ page: 'c/' }, NOW_MS + 1]));
  expect(await read()).toMatchObject({
    lastMs: NOW_MS + 6,
    hours: new Map([
      [HOUR, 3],
      [HOUR - 1, 1],
    ]),
    pages: [
      ['b/', NOW_MS + 6],
      ['a/', NOW_MS + 5],
      ['c/', NOW_MS + 1],
    ],
  });
});

test('200 pages are kept, those that sent last', async () => {
  for (let from = 0; from < 300; from += 150) {
    const events = Array.from({ length: 150 }, (_, at): [Partial<Signs>, number] => [
      { page: `p/${from + at}` },
      NOW_MS + from + at,
    ]);
    await note(siteId, notesOf(...events));
  }
  const { pages } = await read();
  expect(pages).toHaveLength(200);
  expect([pages[0]?.[0], pages.at(-1)?.[0]]).toEqual(['p/299', 'p/100']);
});

test('hours are kept for 28 days, and what tags report for 7', async () => {
  const reported = { retried: 1, dropped: 0, rejected: 0, blocked: 0 };
  await note(siteId, notesOf([{ reported }, NOW_MS - 29 * DAY_MS], [{ reported }, NOW_MS - 6 * DAY_MS]));
  await note(siteId, notesOf([{ reported }, NOW_MS]));
  const { hours, reported: sums } = await read();
  expect([...hours.keys()].sort((a, b) => a - b)).toEqual([HOUR - 6 * 24, HOUR]);
  expect(sums).toEqual(new Map([['retried', 2]]));
});

test('the gap of a definition is the mean of its gaps, over all edges', async () => {
  const fires = (...seconds: number[]) =>
    notesOf(...seconds.map((at): [Partial<Signs>, number] => [{ definition: 'buy' }, NOW_MS + at * 1_000]));
  await note(siteId, fires(0));
  expect((await read()).fired.get('buy')).toEqual({ count: 1, lastMs: NOW_MS, gapMs: 0 });
  await note(siteId, fires(10));
  await note(siteId, fires(20, 25, 30));
  // Another edge, which saw the same half minute.
  await note(siteId, fires(15));
  expect((await read()).fired.get('buy')).toEqual({ count: 6, lastMs: NOW_MS + 30_000, gapMs: 6_000 });
});

test('the gap of a definition follows what is usual now', async () => {
  let atMs = NOW_MS;
  const fire = async (times: number, gapMs: number) => {
    for (let time = 0; time < times; time += 1) {
      atMs += gapMs;
      await note(siteId, notesOf([{ definition: 'buy' }, atMs]));
    }
  };
  await fire(60, 1_000);
  expect((await read()).fired.get('buy')?.gapMs).toBeCloseTo(1_000, -1);
  await fire(300, 60_000);
  expect((await read()).fired.get('buy')?.gapMs).toBeGreaterThan(55_000);
});

test('the definition that fired longest ago gives way when there are 400', async () => {
  for (let from = 0; from < 401; from += 1) {
    await note(siteId, notesOf([{ definition: `d${from}` }, NOW_MS + from]));
  }
  const { fired } = await read();
  expect(fired.size).toBe(400);
  expect([fired.has('d0'), fired.has('d1'), fired.has('d400')]).toEqual([false, true, true]);
});

test('a site of which nothing comes is forgotten after 60 days', async () => {
  await note(siteId, notesOf([{ page: 'a/', definition: 'buy' }, NOW_MS]));
  for (const what of ['facts', 'hours', 'pages', 'definitions']) {
    const ttlMs = await redis().pttl(`tag.{${siteId}}.${what}`);
    expect(ttlMs === -2 || (ttlMs > 59 * DAY_MS && ttlMs <= 60 * DAY_MS), what).toBe(true);
  }
});
