import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testSeed } from '#test/harness/environment.ts';
import { MATRIX } from './matrix.ts';
import { runRow } from './run_row.ts';
import { startWorld, type World } from './world/fault_world.ts';

const SEED = testSeed();
const EVENTS = 2_000;
/** A minute on a machine of its own; on a busy one restarts take several times as long. */
const ROW_MS = 400_000;
const rows = MATRIX.filter(({ smoke }) => smoke === true);

let world: World;
let dataDir: string;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'fault-'));
  world = await startWorld({ dataDir, onProgress: () => undefined });
}, ROW_MS);
afterAll(async () => {
  await world.stop();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
});

test.for(rows)(
  `$name, seed ${SEED}: each accepted event is counted once everywhere`,
  { timeout: ROW_MS },
  async (row) => {
    const { problems, accepted } = await runRow(world, row, { seed: SEED, events: EVENTS, say: () => undefined });
    expect(problems).toEqual([]);
    expect(accepted).toBeGreaterThanOrEqual((row.loadEvents ?? EVENTS) / 2);
  },
);
