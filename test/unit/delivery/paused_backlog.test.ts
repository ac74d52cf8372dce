import { expect, test } from 'vitest';
import { SECOND_MS, webhookWorld } from './webhook_world.ts';

const HOUR_MS = 3_600_000;

test('events of a site whose webhook is down for hours are hardly written, and are all there minutes after its return', async () => {
  const down = new Set(['dead', 'away']);
  const { time, put, accept, run, written, calls, delivered } = await webhookWorld((siteId) => down.has(siteId));
  for (const siteId of ['dead', 'away', 'well']) put(siteId, `https://${siteId}.example/`);
  const began = time.nowMs;
  // Others' events stand before those of the site that returns.
  await accept('dead', 400);
  await accept('away', 200);
  await run(began + HOUR_MS);
  const hour = { ...written };
  expect(hour.retryTopics).toBeLessThan(600 * 8);
  // One outcome each for what waits, and those of the probes.
  expect(hour.outcomes).toBeLessThan(600 + 200);
  await run(began + 20 * HOUR_MS);
  expect(written.retryTopics - hour.retryTopics).toBeLessThan(600 * 10 + 2 * 20 * 60 * 2);
  expect([...calls.values()].every((count) => count < 20 * 60)).toBe(true);

  down.delete('away');
  await accept('well', 1);
  await run(time.nowMs + 12 * 60 * SECOND_MS);
  expect([...delivered.values()].every((times) => times === 1)).toBe(true);
  const countOf = (siteId: string): number => [...delivered.keys()].filter((id) => id.startsWith(`${siteId}/`)).length;
  expect({ away: countOf('away'), well: countOf('well'), dead: countOf('dead') }).toEqual({
    away: 200,
    well: 1,
    dead: 0,
  });

  put('dead', 'https://repaired.example/');
  await run(time.nowMs + 6 * 60 * SECOND_MS);
  expect(countOf('repaired')).toBe(400);
});

const MINUTE_MS = 60_000;
const WAITING = 200;

type World = Awaited<ReturnType<typeof webhookWorld>>;
interface Scene {
  what: string;
  /** How often a waiting event may be written to lanes meanwhile. */
  writesMax: number;
  forMs: number;
  everyMs: number;
  isAlone?: boolean;
  each(world: World, down: Set<string>, round: number): Promise<void> | void;
}

const edit: Scene['each'] = ({ put }, _, round) => put('well', `https://well.example/${round}`);
/** What happens beside `dead`, whose lanes are the lanes of these sites too. */
const SCENES: Scene[] = [
  { what: 'nothing happens', writesMax: 14, forMs: 12 * HOUR_MS, everyMs: HOUR_MS, each: () => undefined },
  {
    ...{ what: 'a healthy site edits its webhook each five minutes', writesMax: 16 },
    ...{ forMs: 12 * HOUR_MS, everyMs: 5 * MINUTE_MS, each: edit },
  },
  {
    ...{ what: 'a healthy site edits its webhook each five seconds', writesMax: 9 },
    ...{ forMs: HOUR_MS, everyMs: 5 * SECOND_MS, each: edit },
  },
  {
    ...{ what: 'sites edit their webhooks, and other processes write to the lanes', writesMax: 50 },
    ...{ forMs: 12 * HOUR_MS, everyMs: MINUTE_MS, isAlone: false, each: edit },
  },
  {
    // What waits of the neighbour lies on the lane of ten minutes at times: in the first hour `dead` does as well.
    ...{ what: 'a neighbour fails one minute of ten', writesMax: 22 },
    ...{ forMs: 12 * HOUR_MS, everyMs: 10 * MINUTE_MS },
    async each({ time, accept, run }, down, round) {
      down.add('near');
      await accept('near', 10, round * 10);
      await run(time.nowMs + MINUTE_MS);
      down.delete('near');
    },
  },
];

test.each(SCENES)(
  'while $what, events of another site that wait are hardly written, and come at once when it is repaired',
  async (scene) => {
    const down = new Set(['dead']);
    const all = await webhookWorld((siteId) => down.has(siteId), scene.isAlone);
    const { time, put, acceptSingly, run, written, delivered } = all;
    for (const siteId of ['dead', 'well', 'near']) put(siteId, `https://${siteId}.example/`);
    await acceptSingly('dead', WAITING);
    const untilMs = time.nowMs + scene.forMs;
    for (let round = 0; time.nowMs < untilMs; round++) {
      const nextMs = time.nowMs + scene.everyMs;
      await scene.each(all, down, round);
      await run(nextMs);
    }
    expect((written.ofSite.get('dead') ?? 0) / WAITING).toBeLessThan(scene.writesMax);
    put('dead', 'https://repaired.example/');
    await run(time.nowMs + MINUTE_MS);
    expect([...delivered.keys()].filter((id) => id.startsWith('repaired/'))).toHaveLength(WAITING);
    expect([...delivered.values()].every((times) => times === 1)).toBe(true);
  },
);

test('what a site waits with behind another on its lanes comes minutes after its return or repair, of several processes too', async () => {
  for (const isAlone of [true, false]) {
    for (const isRepaired of [false, true]) {
      const down = new Set(['dead', 'near']);
      const { time, put, acceptSingly, run, delivered } = await webhookWorld((siteId) => down.has(siteId), isAlone);
      for (const siteId of down) put(siteId, `https://${siteId}.example/`);
      await acceptSingly('dead', WAITING);
      await acceptSingly('near', WAITING / 2);
      await run(time.nowMs + 9 * HOUR_MS);
      if (isRepaired) put('near', 'https://repaired.example/');
      else down.delete('near');
      // A breaker that is open for five minutes at the most, and a lane that is passed over in five more.
      await run(time.nowMs + (isRepaired ? 5.5 : 11) * MINUTE_MS);
      expect({ isAlone, isRepaired, delivered: delivered.size }).toEqual({
        isAlone,
        isRepaired,
        delivered: WAITING / 2,
      });
    }
  }
});
