import { expect, test } from 'vitest';
import { newProgress } from '#pipelines/redelivery/replay.ts';
import type { ReplayPhase } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';
import { createReplayRunner } from '#services/redelivery/replay_runner.ts';
import type { ReplayContext } from '#services/redelivery/replay_source.ts';
import type { RunOptions } from '#services/redelivery/run_replay.ts';

const MINUTE_MS = 60_000;
const ACCOUNTS: Record<string, string> = { shop: 'acme', till: 'acme', other: 'rival' };

/** A runner whose replays are carried on by hand: `phase` says how far the running one is, `look` whether it goes on. */
function runnerOf(...asked: [id: string, siteId: string | null][]) {
  const replays = new Map(asked.map(([id, site_id]) => [id, replayOf(id, site_id)]));
  const running = new Map<string, { options: RunOptions; end: () => void }>();
  let nowMs = 1_000_000;
  const table = {
    replays: () => [...replays.values()],
    replay: (id: string) => replays.get(id),
    accountOfSite: (siteId: string) => ({ account_id: ACCOUNTS[siteId] }),
  };
  const runner = createReplayRunner({
    context: { table, nowMs: () => nowMs } as unknown as ReplayContext,
    replays: { states: new Map(), readNow: async () => undefined },
    leads: () => true,
    onFatal(error) {
      throw error;
    },
    run: (options) =>
      new Promise((resolve) => {
        const { replay_id: id } = options.replay;
        running.set(id, {
          options,
          end() {
            running.delete(id);
            resolve();
          },
        });
      }),
  });
  return {
    runner,
    begun(): string[] {
      runner.begin();
      return [...running.keys()];
    },
    phase(id: string, phase: ReplayPhase) {
      running.get(id)?.options.saved({ ...newProgress(id, nowMs), phase });
    },
    /** Time passes; what is to stop ends, and what is next begins. */
    async pass(ms: number): Promise<string[]> {
      nowMs += ms;
      for (const { options, end } of [...running.values()]) if (options.stopped()) end();
      await Promise.resolve();
      await Promise.resolve();
      return this.begun();
    },
    async end(id: string): Promise<string[]> {
      this.phase(id, 'done');
      running.get(id)?.end();
      return this.pass(0);
    },
  };
}

const replayOf = (replay_id: string, site_id: string | null): Replay => ({
  ...{ replay_id, site_id, destination: 'webhook', source: 'events', from: 0, to: 1, rate: 1 },
  ...{ dry_run: false, force: false, wanted: 'running', created_at: 0 },
});

test('accounts take turns of a minute of sending, and what made way goes on', async () => {
  const world = runnerOf(['a1', 'shop'], ['a2', 'till'], ['b1', 'other']);
  expect(world.begun()).toEqual(['a1']);
  expect(await world.pass(10 * MINUTE_MS)).toEqual(['a1']);
  world.phase('a1', 'sending');
  expect(await world.pass(0)).toEqual(['b1']);
  world.phase('b1', 'sending');
  expect(await world.pass(MINUTE_MS - 1)).toEqual(['b1']);
  expect(await world.pass(1)).toEqual(['a1']);
  expect(await world.pass(MINUTE_MS)).toEqual(['b1']);
  expect(await world.end('b1')).toEqual(['a1']);
  expect(await world.pass(10 * MINUTE_MS)).toEqual(['a1']);
  expect(await world.end('a1')).toEqual(['a2']);
});

test('of one account the oldest goes first, and nothing makes way', async () => {
  const world = runnerOf(['a1', 'shop'], ['a2', 'till']);
  expect(world.begun()).toEqual(['a1']);
  world.phase('a1', 'sending');
  expect(await world.pass(10 * MINUTE_MS)).toEqual(['a1']);
});

test('one of all sites neither makes way nor begins before what is under way has ended', async () => {
  const world = runnerOf(['a1', 'shop'], ['all', null], ['b1', 'other']);
  expect(world.begun()).toEqual(['a1']);
  world.phase('a1', 'sending');
  expect(await world.pass(10 * MINUTE_MS)).toEqual(['a1']);
  expect(await world.end('a1')).toEqual(['all']);
  world.phase('all', 'sending');
  expect(await world.pass(10 * MINUTE_MS)).toEqual(['all']);
  expect(await world.end('all')).toEqual(['b1']);
});
