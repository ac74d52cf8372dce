import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { mismatchesOf, watchPartitions } from '#infra/kafka/client.ts';

const DECLARED = [
  { name: 'events.raw', partitions: 12 },
  { name: 'events.unique', partitions: 12 },
  { name: 'dead.dedup', partitions: 2 },
];
const LOOK_MS = 10_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function cluster(counts: Record<string, number> | null) {
  const state = { counts };
  const logged: string[] = [];
  const admin = {
    async fetchTopicMetadata() {
      if (state.counts === null) throw new Error('no broker answers');
      const topics = Object.entries(state.counts);
      return { topics: topics.map(([name, count]) => ({ name, partitions: Array(count).fill({}) })) };
    },
  };
  const log =
    (level: string) =>
    (...words: unknown[]): void =>
      void logged.push(`${level} ${String(words.at(-1))}`);
  const logger = { error: log('error'), info: log('info') };
  return { state, logged, watch: () => watchPartitions(admin as never, DECLARED, logger as never, LOOK_MS) };
}

it('tells topics with other partitions, and nothing of those that are not there', () => {
  expect(
    mismatchesOf(
      DECLARED,
      new Map([
        ['events.raw', 6],
        ['dead.dedup', 3],
      ]),
    ),
  ).toEqual([
    { topic: 'events.raw', configured: 12, found: 6 },
    { topic: 'dead.dedup', configured: 2, found: 3 },
  ]);
});

it('lacks partitions where a topic has fewer than configured, until it has them', async () => {
  const { state, logged, watch } = cluster({ 'events.raw': 6, 'events.unique': 12, 'dead.dedup': 2 });
  const watched = await watch();
  expect(watched.lacking()).toEqual([{ topic: 'events.raw', configured: 12, found: 6 }]);
  state.counts = { 'events.raw': 12, 'events.unique': 12, 'dead.dedup': 2 };
  await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
  expect(watched.lacking()).toEqual([]);
  expect(logged).toEqual([
    'error topics have other partitions than configured: see EVENT_PARTITIONS',
    'info all topics have the configured partitions again',
  ]);
  watched.stop();
});

it('lacks none where a topic has more, and logs it once', async () => {
  const { logged, watch } = cluster({ 'events.raw': 24 });
  const watched = await watch();
  await vi.advanceTimersByTimeAsync(3 * LOOK_MS);
  expect([watched.lacking(), logged.length]).toEqual([[], 1]);
  expect(watched.mismatches()).toEqual([{ topic: 'events.raw', configured: 12, found: 24 }]);
  watched.stop();
});

it('goes by the last answer while Kafka gives none', async () => {
  const { state, watch } = cluster({ 'events.raw': 6 });
  const watched = await watch();
  state.counts = null;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(watched.lacking()).toHaveLength(1);
  watched.stop();
});
