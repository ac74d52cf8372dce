import { expect, test } from 'vitest';
import { createLostLeases } from '#pipelines/quota/settle.ts';

interface World {
  dead: string[];
  ends: [number, number][];
  settled: [number, number][];
  given: string[];
}

function start(): { world: World; look: () => Promise<void> } {
  const world: World = { dead: [], ends: [], settled: [], given: [] };
  const look = createLostLeases({
    expiredLeases: async () => world.dead,
    rawEnds: async () => new Map(world.ends),
    settled: async () => new Map(world.settled),
    async releaseUnused(lease) {
      world.given.push(lease);
      world.dead = world.dead.filter((one) => one !== lease);
    },
  });
  return { world, look };
}

test('a living edge keeps what it holds, however far settlement lags', async () => {
  const { world, look } = start();
  world.ends = [[0, 9]];
  for (let turn = 0; turn < 5; turn++) await look();
  expect(world.given).toEqual([]);
});

test('what a dead edge holds is given back once all is settled that stood there after its death', async () => {
  const { world, look } = start();
  world.dead = ['x'];
  world.ends = [
    [0, 10],
    [1, 4],
    [2, 0],
  ];
  world.settled = [
    [0, 9],
    [1, 4],
  ];
  await look();
  // Others go on producing: only what stood there at its death counts.
  world.ends = [
    [0, 50],
    [1, 60],
    [2, 70],
  ];
  await look();
  await look();
  expect(world.given).toEqual([]);
  world.settled = [
    [0, 10],
    [1, 4],
  ];
  await look();
  expect(world.given).toEqual(['x']);
  await look();
  expect(world.given).toEqual(['x']);
});

test('the ends are taken after the death was seen, not before', async () => {
  const { world, look } = start();
  world.settled = [[0, 5]];
  world.ends = [[0, 5]];
  await look();
  world.dead = ['x'];
  world.ends = [[0, 8]];
  await look();
  await look();
  expect(world.given).toEqual([]);
  world.settled = [[0, 8]];
  await look();
  expect(world.given).toEqual(['x']);
});

test('an edge that is heard of again dies anew', async () => {
  const { world, look } = start();
  world.dead = ['x'];
  world.ends = [[0, 5]];
  await look();
  world.dead = [];
  await look();
  world.dead = ['x'];
  world.ends = [[0, 9]];
  world.settled = [[0, 5]];
  await look();
  await look();
  expect(world.given).toEqual([]);
});
