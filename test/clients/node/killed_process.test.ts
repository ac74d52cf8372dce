import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startBadLine } from '#test/clients/bad_line.ts';
import { untilCounted } from '#test/clients/stored.ts';
import { cases, childEnvironment, testSeed } from '#test/harness/environment.ts';
import { chanceOf } from '#test/harness/hostile/random.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite } from '#test/harness/test_site.ts';

const POINT_OF_SALE = fileURLToPath(new URL('point_of_sale.ts', import.meta.url));
const SALES = cases(20_000);
const DEATHS_MIN = 15;

/** Runs a point of sale until it is done, or until it has said so many lines, when it is killed. */
async function runPointOfSale(
  argument: object,
  linesMax: number,
): Promise<{ tracked: number; lines: number; problems: string[]; isDone: boolean }> {
  const child = spawn(process.execPath, [POINT_OF_SALE, JSON.stringify(argument)], {
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  const seen = { tracked: -1, lines: 0, problems: [] as string[], isDone: false };
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, rest] = line.split(' ');
    seen.lines += 1;
    if (word === 'tracked') seen.tracked = Number(rest);
    else if (word === 'done') seen.isDone = true;
    else seen.problems.push(line);
    if (seen.lines >= linesMax) child.kill('SIGKILL');
  }
  await ended;
  return seen;
}

test('a point of sale that is killed again and again sends each sale, which is stored once', async () => {
  const service = sharedService();
  const site = await makeSite(service);
  const line = await startBadLine(service.ready.edge, testSeed());
  const folder = mkdtempSync(join(tmpdir(), 'point-of-sale-'));
  const chance = chanceOf(testSeed());
  const problems: string[] = [];
  let from = 0;
  let deaths = 0;
  for (let isDone = false; !isDone; ) {
    // In its midst, at its very beginning, and while it only sends.
    const linesMax = deaths < DEATHS_MIN * 2 ? 1 + chance.below(SALES / DEATHS_MIN) : Number.POSITIVE_INFINITY;
    const argument = { url: line.url, key: site.serverKey, folder, from, to: SALES };
    const run = await runPointOfSale(argument, linesMax);
    problems.push(...run.problems);
    // What was tracked but not said before the end is tracked again under the same id.
    from = Math.max(from, run.tracked + 1);
    isDone = run.isDone;
    if (!isDone) deaths += 1;
  }
  expect(deaths).toBeGreaterThanOrEqual(DEATHS_MIN);
  expect(problems.filter((problem) => problem !== 'problem journal_unreadable')).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  await untilCounted(service, site.site, SALES);
  const expected = Array.from({ length: SALES }, (_, sale) => `sale-${sale}`);
  expect((await storedIds(service, site.site)).sort()).toEqual(expected.sort());
  rmSync(folder, { recursive: true });
  await line.close();
  await site.close();
});
