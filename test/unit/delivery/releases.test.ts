import { expect, test } from 'vitest';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';
import { watchReleases } from '#services/delivery/retry_topics.ts';

const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };
const BEGAN_MS = 100;

function world() {
  const table = createSettingsTable();
  const inTrouble = new Set<string>();
  const put = (site_id: string, token: string): void => {
    const destination = { site_id, name: 'meta', enabled: true, settings: {}, secrets: { token } };
    table.apply(`destination/${site_id}/meta`, { ...BLANK, destination });
  };
  put('a', 'old');
  put('b', 'old');
  const isInTrouble = (siteId: string): boolean => inTrouble.has(siteId);
  const released: [string, number][] = [];
  const scans = {
    released: (siteId: string, nowMs: number) => void released.push([siteId, nowMs]),
    look: (nowMs: number) => released.some(([, ms]) => ms === nowMs),
  };
  const releases = watchReleases({ table, kind: 'meta', isInTrouble, scans, beganMs: BEGAN_MS });
  return { releases, put, inTrouble, released };
}

test('a change of one site makes what waits since before due, paused or failed, and says nothing of others', () => {
  const { releases, put, inTrouble, released } = world();
  expect([releases.look(200), releases.isReleased('a', 150, false)]).toEqual([false, false]);
  put('a', 'new');
  inTrouble.add('a');
  expect([releases.look(300), released]).toEqual([true, [['a', 300]]]);
  expect([true, false].map((isPaused) => releases.isReleased('a', 299, isPaused))).toEqual([true, true]);
  expect(releases.isReleased('a', 300, true)).toBe(false);
  expect(releases.isReleased('b', 299, true)).toBe(false);
  expect([releases.look(400), releases.isReleased('a', 350, true)]).toEqual([false, false]);
  put('c', 'new');
  expect([releases.look(500), releases.isReleased('c', 499, true)]).toEqual([true, true]);
});

test("a site's return makes due what waits since before, while it lasts", () => {
  const { releases, inTrouble, released } = world();
  releases.returned('a', 300);
  expect(released).toEqual([['a', 300]]);
  expect([true, false].map((isPaused) => releases.isReleased('a', 299, isPaused))).toEqual([true, true]);
  expect(releases.isReleased('b', 299, true)).toBe(false);
  inTrouble.add('a');
  expect(releases.isReleased('a', 299, true)).toBe(false);
});

test('what was paused before the watch began is due once, and what came from a replay has no such time', () => {
  const { releases } = world();
  expect([BEGAN_MS - 1, BEGAN_MS].map((sinceMs) => releases.isReleased('a', sinceMs, true))).toEqual([true, false]);
  expect(releases.isReleased('a', BEGAN_MS - 1, false)).toBe(false);
  expect(releases.isReleased('a', 0, true)).toBe(false);
});
