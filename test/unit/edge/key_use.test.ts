import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createKeyUse, type KeyUse } from '#services/edge/site_activity.ts';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { startEdge } from './edge.ts';

let noted: [string, number][][];
let isAway: boolean;
let use: KeyUse;
beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  noted = [];
  isAway = false;
  use = createKeyUse({
    async note(uses) {
      if (isAway) throw new Error('away');
      noted.push([...uses]);
    },
    nowMs: Date.now,
  });
});
afterEach(() => vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('a first use is noted within a second, with others of that second', async () => {
  use.record('a');
  use.record('b');
  use.record('a');
  expect(noted).toEqual([]);
  await pass(1_000);
  const all = [
    ['a', 1_000_000],
    ['b', 1_000_000],
  ];
  expect(noted).toEqual([all]);
  await pass(10_000);
  expect(noted).toEqual([all]);
});

test('a clock that is set back does not keep uses from being noted', async () => {
  use.record('a');
  await pass(1_000);
  vi.setSystemTime(500_000);
  use.record('a');
  await pass(1_000);
  expect(noted.at(-1)).toEqual([['a', 500_000]]);
});

test('a key that is used all the time is noted once a minute', async () => {
  for (let second = 0; second < 180; second++) {
    use.record('a');
    await pass(1_000);
  }
  expect(noted.flat().map(([, atMs]) => atMs)).toEqual([1_000_000, 1_060_000, 1_120_000]);
});

test('what could not be noted is noted again before what came since', async () => {
  isAway = true;
  use.record('a');
  use.record('b');
  await pass(61_000);
  use.record('a');
  isAway = false;
  await pass(1_000);
  expect(noted).toEqual([
    [
      ['a', 1_000_000],
      ['b', 1_000_000],
    ],
    [['a', 1_061_000]],
  ]);
});

test('the end notes what is left', async () => {
  use.record('a');
  await use.stop();
  expect(noted).toEqual([[['a', 1_000_000]]]);
  await pass(60_000);
  expect(noted).toHaveLength(1);
});

test('the edge notes keys that were let in, and no others', async () => {
  vi.useRealTimers();
  const edge = await startEdge();
  const hashes = edge.table.keys().map(({ key_hash }) => key_hash);
  await postEvents(edge.url, 'guess', [newEvent()]);
  await postEvents(edge.url, null, [newEvent()]);
  expect(edge.usedKeys).toEqual([]);
  await postBody(edge.url, edge.serverKey, 'no JSON');
  await fetch(`${edge.url}/v1/config`, { headers: { 'x-svc-key': edge.browserKey } });
  const segment = { batch: [{ type: 'track', event: 'Seen', userId: 'u' }], writeKey: edge.serverKey };
  await fetch(`${edge.url}/v1/batch`, { method: 'POST', body: JSON.stringify(segment) });
  expect(edge.usedKeys).toHaveLength(3);
  expect(new Set(edge.usedKeys)).toEqual(new Set(hashes));
  await edge.close();
});
