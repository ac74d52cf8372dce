import { expect, test } from 'vitest';
import { openBlock, readPlan, writePlan } from '#pipelines/warehouse/block.ts';
import type { Random } from '#services/demo/world/random.ts';
import type { Pause } from './actor.ts';
import { firstFailure, type Outcome, runChaos } from './chaos.ts';
import { across, createLog, FencedError } from './log.ts';

const SEEDS = 1_500;
/** Seconds on a machine of its own, far more on a busy one. */
const TIMEOUT_MS = 120_000;
const PARTITIONS = 2;
const STEPS = 250;
const RECORDS = 30;
const BLOCK_ROWS = 7;
const AGE_MS = 20;

interface Broken {
  /** The table does not know what it was given. */
  tokenless?: true;
  /** Blocks are inserted unannounced. */
  planless?: true;
}

/** Plan, insert, commit: rows of a partition into a table that drops a token it has seen. */
async function simulate(random: Random, broken: Broken): Promise<Outcome> {
  const log = createLog<number>({ partitions: PARTITIONS });
  const table: string[] = [];
  const tokens = new Map<string, string>();
  const problems: string[] = [];
  const time = { nowMs: 0 };
  for (let record = 0; record < RECORDS; record++) log.append(random.whole(0, PARTITIONS - 1), random.whole(0, 3));

  function insert(token: string, rows: readonly string[]): void {
    const known = tokens.get(token);
    if (known !== undefined && known !== rows.join()) problems.push(`token ${token} means two blocks`);
    if (known !== undefined && broken.tokenless !== true) return;
    tokens.set(token, rows.join());
    table.push(...rows);
  }

  async function work(partition: number, pause: Pause): Promise<void> {
    const generation = await across(pause, () => log.fence(partition));
    const commit = (offset: number, metadata: string): Promise<void> =>
      across(pause, () => log.commit(partition, generation, offset, metadata, () => undefined));
    const { offset, metadata } = await across(pause, () => log.committed(partition));
    let block = openBlock<string>(readPlan(metadata), time.nowMs);

    async function flush(): Promise<void> {
      const fill = block.fill();
      if (fill === null) return;
      const { planned } = block;
      if (planned === null && fill.rows.length > 0 && broken.planless !== true)
        await commit(fill.first, writePlan(fill));
      if (fill.rows.length > 0) await across(pause, () => insert(`${partition}/${fill.first}-${fill.last}`, fill.rows));
      await commit(fill.last + 1, '');
      block = openBlock<string>(null, time.nowMs);
    }

    for (let at = offset; at < log.end(partition); at++) {
      const [rows = 0] = await across(pause, () => log.read(partition, at, 1));
      if (block.isPast(at)) await flush();
      block.add({ offset: at, rows: Array.from({ length: rows }, (_, row) => `${partition}/${at}/${row}`) });
      if (block.isFull(BLOCK_ROWS) || block.isDue(time.nowMs, AGE_MS)) await flush();
    }
    await flush();
  }

  const tick = (): void => {
    time.nowMs += random.whole(0, 5);
  };
  await runChaos({ random, partitions: PARTITIONS, work, tick, steps: STEPS });
  const expected = Array.from({ length: PARTITIONS }, (_, partition) =>
    log
      .read(partition, 0, RECORDS)
      .flatMap((rows, at) => Array.from({ length: rows }, (_, row) => `${partition}/${at}/${row}`)),
  ).flat();
  const found = new Set(table);
  const lost = expected.filter((row) => !found.has(row));
  return [
    ...problems,
    ...(lost.length > 0 ? [`lost ${lost.join(' ')}`] : []),
    ...(table.length !== found.size ? [`doubled ${table.length - found.size} rows`] : []),
  ];
}

test('whoever dies or wakes up late, each row is inserted once', { timeout: TIMEOUT_MS }, async () => {
  expect(await firstFailure('warehouse', SEEDS, (random) => simulate(random, {}))).toBeNull();
});

test('without the token some seed doubles', async () => {
  expect(await firstFailure('warehouse', SEEDS, (random) => simulate(random, { tokenless: true }))).toMatch(/doubled/);
});

test('without the plan some seed doubles', async () => {
  expect(await firstFailure('warehouse', SEEDS, (random) => simulate(random, { planless: true }))).toMatch(/doubled/);
});

test('a commit of one who lost the partition is refused', () => {
  const log = createLog<number>({ partitions: 1 });
  const token = log.fence(0);
  log.fence(0);
  expect(() => log.commit(0, token, 1, '', () => undefined)).toThrow(FencedError);
});
