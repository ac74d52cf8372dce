import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLinger, type Linger } from '#infra/kafka/consumer/consume.ts';

/** A linger of 100 ms on a clock that is set by hand. */
function lingering(lingerMs = 100, earlyMs = 0) {
  let nowMs = 0;
  let sleeping: { untilMs: number; wake: () => void }[] = [];
  const linger = createLinger(
    lingerMs,
    () => nowMs,
    (ms) => new Promise<void>((wake) => sleeping.push({ untilMs: nowMs + ms - earlyMs, wake })),
  );
  return {
    linger,
    async at(ms: number): Promise<void> {
      nowMs = ms;
      const due = sleeping.filter(({ untilMs }) => untilMs <= ms);
      sleeping = sleeping.filter((one) => !due.includes(one));
      for (const { wake } of due) wake();
      await turn();
    },
    sleepers: () => sleeping.length,
  };
}

/** A partition that always has something to begin; answers the moments at which it began. */
function busy(linger: Linger): { began: number[]; begin(): Promise<void> } {
  const began: number[] = [];
  return {
    began,
    async begin() {
      began.push(await linger.next(began.at(-1) ?? Number.NEGATIVE_INFINITY));
    },
  };
}

test('a partition that comes a linger time after the last moment, or later, does not wait', async () => {
  const { linger, at } = lingering();
  const one = busy(linger);
  for (const ms of [7, 107, 350, 500]) {
    await at(ms);
    await one.begin();
  }
  expect(one.began).toEqual([7, 107, 350, 500]);
});

test('a partition that comes sooner waits for the rest of the linger time', async () => {
  const { linger, at } = lingering();
  const one = busy(linger);
  await one.begin();
  await at(30);
  const second = one.begin();
  await at(99);
  expect(one.began).toEqual([0]);
  await at(100);
  await second;
  expect(one.began).toEqual([0, 100]);
});

test('who comes a little after another begins at the same moment, once', async () => {
  const { linger, at } = lingering();
  const [one, other] = [busy(linger), busy(linger)];
  await one.begin();
  await at(20);
  await other.begin();
  const again = other.begin();
  await at(99);
  expect(other.began).toEqual([0]);
  await at(100);
  await again;
  expect(other.began).toEqual([0, 100]);
});

test('all that wait begin at one moment, whoever comes later at the next', async () => {
  const { linger, at, sleepers } = lingering();
  const all = [busy(linger), busy(linger), busy(linger)];
  await all[0]?.begin();
  await at(50);
  const begun = all.map((one) => one.begin());
  expect(sleepers()).toBe(1);
  await at(103);
  await Promise.all(begun);
  expect(all.map(({ began }) => began)).toEqual([[0, 103], [103], [103]]);
  await at(140);
  const late = busy(linger);
  void late.begin();
  await at(202);
  expect(late.began).toEqual([]);
  await at(203);
  expect(late.began).toEqual([203]);
});

test('a timer that wakes a little early is waited for again', async () => {
  const { linger, at } = lingering(100, 0.5);
  const one = busy(linger);
  await one.begin();
  const second = one.begin();
  await at(99.5);
  expect(one.began).toEqual([0]);
  await at(100);
  await second;
  expect(one.began).toEqual([0, 100]);
});

test('without a linger time nobody waits', async () => {
  const { linger } = lingering(0);
  const one = busy(linger);
  await one.begin();
  await one.begin();
  expect(one.began).toEqual([0, 0]);
});

test('a moment that comes between two looks at the clock is not slept for', async () => {
  let nowMs = 0;
  const slept: number[] = [];
  const linger = createLinger(
    1,
    () => {
      nowMs += 0.6;
      return nowMs;
    },
    async (ms) => void slept.push(ms),
  );
  let begunMs = Number.NEGATIVE_INFINITY;
  for (let times = 0; times < 20; times++) begunMs = await linger.next(begunMs);
  expect(slept.length).toBeGreaterThan(0);
  expect(slept.filter((ms) => ms <= 0)).toEqual([]);
});
