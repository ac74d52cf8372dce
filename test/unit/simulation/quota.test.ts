import { expect, test } from 'vitest';
import type { Logger } from '#infra/log/logger.ts';
import { type AccountMonth, type QuotaStore, type SettledUsage, settlementsOf } from '#pipelines/quota/settle.ts';
import type { QuotaCounts } from '#schemas/records.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { createPartitions, type KnownUsage, nameOfMonth, type Partitions } from '#services/quota/settlement.ts';
import type { Pause } from './actor.ts';
import { firstFailure, type Outcome, runChaos } from './chaos.ts';
import { across, createLog } from './log.ts';

const SEEDS = 1_500;
const TIMEOUT_MS = 120_000;
const PARTITIONS = 2;
const STEPS = 200;
const RECORDS = 20;
const BATCH = 2;
const LOSSES = 0.01;
const MONTH = '2026-11';
const ACCOUNTS = ['one', 'two'] as const;

interface World {
  /** Redis loses everything now and then. */
  losing?: true;
  /** Broken: adds whatever it is given, settled before or not. */
  offsetless?: true;
}

/** What Redis holds, as its script treats it; leases are not looked at here. */
function createMemoryCounters({ offsetless }: World) {
  const cells = new Map<string, SettledUsage>();
  const checkpoints = new Map<number, number>();
  const generations = new Map<number, string>();
  const store: QuotaStore = {
    async settle({ accountId, month, partition, ranges }, known) {
      const name = `${nameOfMonth({ accountId, month })} ${partition}`;
      const cell = { ...(cells.get(name) ?? { used: 0, settledOffset: 0, log: '' }) };
      if (cell.settledOffset < known.settledOffset) Object.assign(cell, known);
      for (const { nextOffset, unique } of ranges) {
        if (nextOffset <= cell.settledOffset && offsetless !== true) continue;
        cell.used += unique;
        cell.settledOffset = Math.max(cell.settledOffset, nextOffset);
      }
      cells.set(name, cell);
      return { ...cell, released: 0 };
    },
    begin: async (partition, generation) => void generations.set(partition, generation),
    async checkpoint(partition, nextOffset, generation) {
      if (generations.get(partition) !== generation) return false;
      checkpoints.set(partition, nextOffset);
      return true;
    },
    checkpoints: async () =>
      new Map(
        [...checkpoints].map(([partition, nextOffset]) => [
          partition,
          { nextOffset, generation: generations.get(partition) ?? '' },
        ]),
      ),
    expiredLeases: async () => [],
    releaseUnused: async () => 0,
    dropReservations: async () => undefined,
    forgetLease: async () => undefined,
  };
  const lose = (): void => {
    cells.clear();
    checkpoints.clear();
    generations.clear();
  };
  const used = (): number => [...cells.values()].reduce((sum, cell) => sum + cell.used, 0);
  return { store, lose, used };
}

/** quota.counts settled into counters that may lose everything, with what was settled published. */
async function simulate(random: Random, kind: World): Promise<Outcome> {
  const log = createLog<QuotaCounts>({ partitions: PARTITIONS });
  let expected = 0;
  for (let record = 0; record < RECORDS; record++) expected += appendCounts(log, random);
  const counters = createMemoryCounters(kind);
  const published = new Map<number, KnownUsage>();

  function publish(partition: number, month: AccountMonth, usage: SettledUsage): void {
    const known: KnownUsage = published.get(partition) ?? new Map();
    published.set(partition, known);
    if ((known.get(nameOfMonth(month))?.settledOffset ?? -1) > usage.settledOffset) return;
    known.set(nameOfMonth(month), { ...month, used: usage.used, settledOffset: usage.settledOffset, log: '' });
  }

  let generations = 0;
  const open = (pause: Pause): Partitions =>
    createPartitions({
      store: paused(counters.store, pause),
      newGeneration: () => String(++generations),
      readFacts: () =>
        across(pause, () => new Map([...published].map(([place, known]) => [place, new Map(known)] as const))),
      committedOffset: (partition) => across(pause, () => Number(log.committed(partition).metadata)),
      isClosed: () => false,
      onRestored: () => undefined,
      logger: { warn: () => undefined } as unknown as Logger,
    });

  async function work(partition: number, pause: Pause): Promise<void> {
    const token = await across(pause, () => log.fence(partition));
    const partitions = open(pause);
    let { offset } = await across(pause, () => log.committed(partition));
    await partitions.load(partition);
    while (offset < log.end(partition)) {
      const batch = await across(pause, () => log.read(partition, offset, BATCH));
      const settlements = settlementsOf(batch);
      const next = batch.at(-1)?.next_offset ?? 0;
      const checkpointed = await partitions.settle(
        partition,
        settlements,
        { settledOffset: next, log: '' },
        (settled) =>
          across(pause, () =>
            settled.forEach((usage, index) => {
              publish(partition, settlements[index] as AccountMonth, usage);
            }),
          ),
      );
      const behind = offset + batch.length;
      await across(pause, () => log.commit(partition, token, behind, String(checkpointed), () => undefined));
      offset = behind;
    }
  }

  let stepped = 0;
  const tick = (): void => {
    stepped++;
    if (kind.losing && stepped < STEPS && random.chance(LOSSES)) counters.lose();
  };
  await runChaos({ random, partitions: PARTITIONS, work, tick, steps: STEPS });
  // Whoever has the partitions looks after them every second.
  await open(async () => undefined).check(Array.from({ length: PARTITIONS }, (_, partition) => partition));
  const told = [...published.values()].flatMap((known) => [...known.values()]).reduce((sum, { used }) => sum + used, 0);
  return [
    ...(counters.used() === expected ? [] : [`counted ${counters.used()} of ${expected}`]),
    ...(told === expected ? [] : [`published ${told} of ${expected}`]),
  ];
}

function appendCounts(log: ReturnType<typeof createLog<QuotaCounts>>, random: Random): number {
  const partition = random.whole(0, PARTITIONS - 1);
  const before = log.end(partition);
  const counts = ACCOUNTS.filter(() => random.chance(0.7)).map((account_id) => ({
    account_id,
    month: MONTH,
    hold: '',
    unique: random.whole(0, 5),
    duplicate: 0,
    newest_at: 0,
  }));
  log.append(partition, { partition, next_offset: before + 1, log: '', counts });
  return counts.reduce((sum, { unique }) => sum + unique, 0);
}

/** Every call may die on its way there and on its way back. */
function paused(store: QuotaStore, pause: Pause): QuotaStore {
  return {
    ...store,
    settle: (settlement, known) => across(pause, () => store.settle(settlement, known)),
    begin: (partition, generation) => across(pause, () => store.begin(partition, generation)),
    checkpoint: (partition, offset, generation) => across(pause, () => store.checkpoint(partition, offset, generation)),
    checkpoints: () => across(pause, () => store.checkpoints()),
  };
}

test('whoever dies or wakes up late, each event counts once', { timeout: TIMEOUT_MS }, async () => {
  expect(await firstFailure('quota', SEEDS, (random) => simulate(random, {}))).toBeNull();
});

test('whatever Redis loses, each event counts once, and is published once', { timeout: TIMEOUT_MS }, async () => {
  expect(await firstFailure('quota_lost', SEEDS, (random) => simulate(random, { losing: true }))).toBeNull();
});

test('without the settled offset some seed counts twice', async () => {
  expect(await firstFailure('quota', SEEDS, (random) => simulate(random, { offsetless: true }))).toMatch(/counted/);
});
