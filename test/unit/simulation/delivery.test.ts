import { expect, test } from 'vitest';
import { nextRetry, RETRY_DELAYS } from '#pipelines/delivery/retry_topics.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import type { Pause } from './actor.ts';
import { firstFailure, type Outcome, runChaos } from './chaos.ts';
import { across, createLog } from './log.ts';

const SEEDS = 1_500;
const TIMEOUT_MS = 120_000;
const EVENTS = 30;
const STEPS = 250;
const BATCH = 3;
/** The topic itself, then a partition for each lane. */
const MAIN = 0;
const PARTITIONS = 1 + RETRY_DELAYS.length;
const TICK_MS_MAX = 120_000;
const HOUR_MS = 3_600_000;
const DOWN_MS_MAX = 10 * HOUR_MS;

interface Broken {
  /** The offset is committed first, then what is to be tried again is written. */
  commitsFirst?: true;
  unfenced?: true;
}

interface Job {
  event: string;
  attempt: number;
  firstAttemptedAtMs: number | null;
  dueAtMs: number;
}

/** Events to a platform that is away for hours, over the retry lanes, with deaths between its yes and our commit. */
async function simulate(random: Random, broken: Broken): Promise<Outcome> {
  const log = createLog<Job>({ partitions: PARTITIONS, ...(broken.unfenced ? { unfenced: true } : {}) });
  const time = { nowMs: 0 };
  const downUntilMs = random.whole(0, DOWN_MS_MAX);
  const accepted = new Set<string>();
  const outcomes: string[] = [];
  const dead: string[] = [];
  for (let event = 0; event < EVENTS; event++) {
    log.append(MAIN, { event: `e${event}`, attempt: 1, firstAttemptedAtMs: null, dueAtMs: 0 });
  }

  /** What is asked again is asked under the same key: the platform counts it once. */
  function ask({ event }: Job): boolean {
    if (time.nowMs < downUntilMs || random.chance(0.1)) return false;
    accepted.add(event);
    return true;
  }

  function divert(job: Job): () => void {
    const firstAttemptedAtMs = job.firstAttemptedAtMs ?? time.nowMs;
    const { attempt } = job;
    const question = { attempt, firstAttemptedAtMs, nowMs: time.nowMs, retryAfterMs: null, deadlineMs: null };
    const choice = nextRetry({ ...question, random: random.next() });
    if (choice.kind === 'dead') return () => void dead.push(job.event);
    const retryTopic = 1 + RETRY_DELAYS.findIndex(({ name }) => name === choice.retryTopic);
    const next = { event: job.event, attempt: attempt + 1, firstAttemptedAtMs, dueAtMs: choice.dueAtMs };
    return () => log.append(retryTopic, next);
  }

  async function work(partition: number, pause: Pause): Promise<void> {
    const token = await across(pause, () => log.fence(partition));
    let { offset } = await across(pause, () => log.committed(partition));
    while (offset < log.end(partition)) {
      const read = await across(pause, () => log.read(partition, offset, BATCH));
      const early = read.findIndex(({ dueAtMs }) => dueAtMs > time.nowMs);
      const jobs = early === -1 ? read : read.slice(0, early);
      if (jobs.length === 0) continue;
      const effects: (() => void)[] = [];
      for (const job of jobs) {
        const isDelivered = await across(pause, () => ask(job));
        effects.push(isDelivered ? () => void outcomes.push(job.event) : divert(job));
      }
      const next = offset + jobs.length;
      const apply = (): void => {
        for (const effect of effects) effect();
      };
      await across(pause, () => log.commit(partition, token, next, '', broken.commitsFirst ? () => undefined : apply));
      if (broken.commitsFirst) await across(pause, apply);
      offset = next;
    }
  }

  const tick = (): void => {
    time.nowMs += random.whole(0, TICK_MS_MAX);
  };
  await runChaos({ random, partitions: PARTITIONS, work, tick, steps: STEPS });
  const sent = Array.from({ length: EVENTS }, (_, event) => `e${event}`);
  const lost = sent.filter((event) => !accepted.has(event));
  const accounted = new Set(outcomes);
  return [
    ...(lost.length > 0 ? [`lost ${lost.join(' ')}`] : []),
    ...(dead.length > 0 ? [`dead within three days ${dead.join(' ')}`] : []),
    ...(outcomes.length !== accounted.size ? ['doubled outcomes'] : []),
    ...sent.filter((event) => accepted.has(event) && !accounted.has(event)).map((event) => `no outcome of ${event}`),
  ];
}

test('whoever dies or wakes up late, all is delivered and has one outcome', { timeout: TIMEOUT_MS }, async () => {
  expect(await firstFailure('delivery', SEEDS, (random) => simulate(random, {}))).toBeNull();
});

test('where the commit goes before the retry record some seed loses', async () => {
  expect(await firstFailure('delivery', SEEDS, (random) => simulate(random, { commitsFirst: true }))).toMatch(/lost/);
});

test('without fencing some seed has two outcomes', async () => {
  expect(await firstFailure('delivery', SEEDS, (random) => simulate(random, { unfenced: true }))).toMatch(/doubled/);
});
