import { expect, test } from 'vitest';
import { createReservationLeases } from '#services/edge/admission.ts';

const LEASE_MS = 30_000;

function start() {
  const world = { nowMs: 1_000, renewed: [] as (readonly string[])[], answer: true as boolean | Error };
  const leases = createReservationLeases({
    async renew(names) {
      world.renewed.push(names);
      if (world.answer instanceof Error) throw world.answer;
      return world.answer;
    },
    leaseMs: LEASE_MS,
    nowMs: () => world.nowMs,
  });
  return { world, leases };
}

test('nothing is reserved before a lease lives, nor while usage is not known', async () => {
  const { world, leases } = start();
  expect(leases.current()).toBe('');
  world.answer = false;
  await leases.renew();
  expect(leases.current()).toBe('');
  world.answer = true;
  await leases.renew();
  expect(leases.current()).not.toBe('');
});

test('a hold stays while nothing is in doubt', async () => {
  const { world, leases } = start();
  await leases.renew();
  const first = leases.current();
  for (let turn = 0; turn < 5; turn++) {
    world.nowMs += 1_000;
    await leases.renew();
  }
  expect(leases.current()).toBe(first);
  expect(world.renewed.every((names) => names.length === 1 && names[0] === first)).toBe(true);
});

test('a doubted hold is replaced, and kept alive for as long as something may arrive', async () => {
  const { world, leases } = start();
  await leases.renew();
  const first = leases.current();
  leases.markUncertain();
  expect(leases.current()).toBe(first);
  await leases.renew();
  const second = leases.current();
  expect(second).not.toBe(first);
  expect(world.renewed.at(-1)).toEqual([second, first]);
  for (let seconds = 0; seconds <= 601; seconds++) {
    world.nowMs += 1_000;
    await leases.renew();
  }
  expect(world.renewed.at(-1)).toEqual([second]);
});

test('a lease that may have ended is never taken up again', async () => {
  const { world, leases } = start();
  await leases.renew();
  const first = leases.current();
  world.answer = new Error('away');
  await expect(leases.renew()).rejects.toThrow('away');
  expect(leases.current()).toBe(first);
  world.nowMs += LEASE_MS / 2;
  expect(leases.current()).toBe('');
  world.answer = true;
  await leases.renew();
  expect(leases.current()).not.toBe('');
  expect(leases.current()).not.toBe(first);
});
