import { expect, test } from 'vitest';
import {
  appendRows,
  dedupToken,
  type PendingRows,
  pendingFrom,
  planOf,
  readPlan,
  rowsOf,
  writePlan,
} from '#pipelines/warehouse/block.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import type { Pause } from './actor.ts';
import { firstFailure, type Outcome, runChaos } from './chaos.ts';
import { across, createLog, FencedError } from './log.ts';

const SEEDS = 1_500;
/** Seconds on a machine of its own, far more on a busy one. */
const TIMEOUT_MS = 120_000;
const PARTITIONS = 3;
const STEPS = 250;
const RECORDS = 30;
const BLOCK_ROWS = 7;
const AGE_MS = 20;

interface Broken {
  /** The table does not know what it was given. */
  tokenless?: true;
  /** Blocks are inserted unannounced. */
  planless?: true;
  /** A partition is told of its own range only, not of those that are inserted with it. */
  alone?: true;
}

/** Plan, insert, commit: rows of several partitions into a table that drops a token it has seen. */
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

  const rowsAt = (partition: number, at: number): string[] => {
    const [rows = 0] = log.read(partition, at, 1);
    return Array.from({ length: rows }, (_, row) => `${partition}/${at}/${row}`);
  };

  /** A member of the group: it takes the partition that is its own and, as may be, others from their owners. */
  async function work(home: number, pause: Pause): Promise<void> {
    const mine = Array.from({ length: PARTITIONS }, (_, at) => at).filter((at) => at === home || random.chance(0.4));
    const generations = new Map<number, number>();
    const open = new Map<number, PendingRows<string>>();
    for (const partition of mine) {
      generations.set(partition, await across(pause, () => log.fence(partition)));
      const { offset, metadata } = await across(pause, () => log.committed(partition));
      const plan = readPlan(metadata);
      const own = plan?.get(partition);
      open.set(partition, pendingFrom(own === undefined ? offset : own.last + 1, time.nowMs));
      if (plan === null || own === undefined) continue;
      const rows = rowsOf(plan, (at) => {
        const { first = 0, last = -1 } = plan.get(at) ?? {};
        return Array.from({ length: last - first + 1 }, (_, index) => rowsAt(at, first + index)).flat();
      });
      await across(pause, () => insert(dedupToken('events', plan), rows));
    }

    interface Commit {
      partition: number;
      offset: number;
      metadata: string;
    }

    /** All or nothing, as the coordinator refuses a request by its generation. */
    const commitAll = ([first, ...rest]: readonly Commit[]): void => {
      if (first === undefined) return;
      const { partition, offset, metadata } = first;
      log.commit(partition, generations.get(partition) ?? -1, offset, metadata, () => commitAll(rest));
    };

    async function flush(): Promise<void> {
      const plan = planOf(open);
      if (plan.size > 0 && broken.planless !== true) {
        const announced = [...plan].map(([partition, { first, last }]) => {
          const alone = new Map([[partition, { first, last }]]);
          return { partition, offset: first, metadata: writePlan(broken.alone === true ? alone : plan) };
        });
        await across(pause, () => commitAll(announced));
      }
      if (plan.size > 0) {
        const rows = rowsOf(plan, (partition) => open.get(partition)?.rows ?? []);
        await across(pause, () => insert(dedupToken('events', plan), rows));
      }
      const written = [...open].map(([partition, { next }]) => ({ partition, offset: next, metadata: '' }));
      await across(pause, () => commitAll(written));
      for (const { partition, offset } of written) open.set(partition, pendingFrom(offset, time.nowMs));
    }

    const rest = (): number[] => mine.filter((partition) => (open.get(partition)?.next ?? 0) < log.end(partition));
    while (rest().length > 0) {
      for (const partition of rest()) {
        const gathered = open.get(partition);
        if (gathered === undefined) continue;
        const at = gathered.next;
        appendRows(gathered, at, await across(pause, () => rowsAt(partition, at)), 10);
      }
      const waiting = [...open.values()];
      const rows = waiting.reduce((sum, one) => sum + one.rows.length, 0);
      if (rows >= BLOCK_ROWS || waiting.some(({ openedMs }) => time.nowMs - openedMs >= AGE_MS)) await flush();
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

test('where a partition is told of its own range only, some seed doubles', async () => {
  expect(await firstFailure('warehouse', SEEDS, (random) => simulate(random, { alone: true }))).toMatch(/doubled/);
});

test('a commit of one who lost the partition is refused', () => {
  const log = createLog<number>({ partitions: 1 });
  const token = log.fence(0);
  log.fence(0);
  expect(() => log.commit(0, token, 1, '', () => undefined)).toThrow(FencedError);
});
