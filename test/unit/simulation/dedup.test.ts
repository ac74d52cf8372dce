import { expect, test } from 'vitest';
import { type DedupStore, deduplicate, type RawEntry } from '#pipelines/dedup/dedup.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { createMemoryClaims } from '#test/contract/claims/memory_claims.ts';
import type { Pause } from './actor.ts';
import { firstFailure, type Outcome, runChaos } from './chaos.ts';
import { across, createLog } from './log.ts';

const SEEDS = 1_500;
/** Seconds on a machine of its own, far more on a busy one. */
const TIMEOUT_MS = 120_000;
const PARTITIONS = 3;
const STEPS = 250;
const IDS = 25;
const RECORDS = 40;
const WINDOW_MS = 1_000_000;

interface Broken {
  unfenced?: true;
  /** Claims that were made by the event itself are not recognised. */
  forgetful?: true;
}

/** The stage from events.raw to events.unique, with copies of each event on all partitions. */
async function simulate(random: Random, broken: Broken): Promise<Outcome> {
  const raw = createLog<string[]>({ partitions: PARTITIONS, ...(broken.unfenced ? { unfenced: true } : {}) });
  const unique: string[] = [];
  const sent = new Set<string>();
  for (let record = 0; record < RECORDS; record++) {
    const ids = Array.from({ length: random.whole(1, 3) }, () => `e${random.whole(1, IDS)}`);
    for (const id of ids) sent.add(id);
    raw.append(random.whole(0, PARTITIONS - 1), ids);
  }
  const claims = createMemoryClaims(WINDOW_MS);

  async function work(partition: number, pause: Pause): Promise<void> {
    const token = await across(pause, () => raw.fence(partition));
    let { offset } = await across(pause, () => raw.committed(partition));
    const store: DedupStore = {
      async claim(asked) {
        const held = await across(pause, () => claims.claim(asked));
        return broken.forgetful ? held.map((holder) => holder && 'another') : held;
      },
    };
    while (offset < raw.end(partition)) {
      const records = await across(pause, () => raw.read(partition, offset, 2));
      const entries = records.flatMap((ids, at) => ids.map((id, index) => entryOf(id, partition, offset + at, index)));
      const { passed } = await deduplicate(entries, store, 3);
      const next = offset + records.length;
      await across(pause, () =>
        raw.commit(partition, token, next, '', () => unique.push(...passed.map(({ view }) => view.eventId))),
      );
      offset = next;
    }
  }

  await runChaos({ random, partitions: PARTITIONS, work, steps: STEPS });
  const missing = [...sent].filter((id) => !unique.includes(id));
  const doubled = unique.filter((id, index) => unique.indexOf(id) !== index);
  return [
    ...(missing.length > 0 ? [`lost ${missing.join(' ')}`] : []),
    ...(doubled.length > 0 ? [`doubled ${doubled.join(' ')}`] : []),
  ];
}

function entryOf(eventId: string, partition: number, offset: number, index: number): RawEntry {
  const view = { siteId: 'site', eventId } as EncodedEvent;
  return { view, coordinate: { partition, offset, index }, recordOffset: offset };
}

test('whoever dies or wakes up late, each event passes once', { timeout: TIMEOUT_MS }, async () => {
  expect(await firstFailure('dedup', SEEDS, (random) => simulate(random, {}))).toBeNull();
});

test('without fencing some seed doubles', async () => {
  expect(await firstFailure('dedup', SEEDS, (random) => simulate(random, { unfenced: true }))).toMatch(/doubled/);
});

test('with claims that do not know their own event some seed loses', async () => {
  expect(await firstFailure('dedup', SEEDS, (random) => simulate(random, { forgetful: true }))).toMatch(/lost/);
});
