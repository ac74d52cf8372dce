import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startBadLine } from '#test/clients/bad_line.ts';
import { untilCounted } from '#test/clients/stored.ts';
import { cases, testSeed } from '#test/harness/environment.ts';
import { chanceOf } from '#test/harness/hostile/random.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite } from '#test/harness/test_site.ts';
import { runSender } from './sender.ts';

const SALES = cases(10_000);
const KILLS_MIN = 15;

test('a point of sale that is killed again and again sends each sale that it tracked, which is stored once', async () => {
  const service = sharedService();
  const site = await makeSite(service);
  const line = await startBadLine(service.ready.edge, testSeed());
  const journal = mkdtempSync(join(tmpdir(), 'journal-'));
  const chance = chanceOf(testSeed());
  const ids = new Map<number, string>();
  let [first, kills] = [0, 0];
  for (let isDone = false; !isDone; ) {
    // In its midst, at its very beginning, and while it only sends.
    const linesMax = kills < KILLS_MIN * 2 ? 1 + chance.below((2 * SALES) / KILLS_MIN) : Number.POSITIVE_INFINITY;
    const run = await runSender({ url: line.url, key: site.serverKey, first, last: SALES, journal }, linesMax);
    for (const [at, id] of run.ids) ids.set(at, id);
    expect(run.errors.filter((error) => !/^(answer_foreign|network_failed|journal_damaged) /.test(error))).toEqual([]);
    expect([...run.told.keys()]).toEqual([]);
    first = Math.max(first, run.tried + 1);
    isDone = run.isDone;
    if (!isDone) kills += 1;
  }
  expect(kills).toBeGreaterThanOrEqual(KILLS_MIN);
  await untilCounted(service, site.site, ids.size);
  const stored = await storedIds(service, site.site);
  expect(new Set(stored).size).toBe(stored.length);
  const known = new Set(stored);
  expect([...ids.values()].filter((id) => !known.has(id))).toEqual([]);
  // What it had tracked, but not said yet, when it was killed.
  expect(stored.length - ids.size).toBeLessThanOrEqual(kills);
  rmSync(journal, { recursive: true });
  await line.close();
  await site.close();
});
