import { expect, onTestFinished, test, vi } from 'vitest';
import type { Kafka } from '#infra/kafka/client.ts';
import { differences, kafkaOf, numbered, produce, readCommitted, uniqueName, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, isDone, joinStage, passOn, stateOf, useKafka } from './stage_fixture.ts';
import { watchedConsumers } from './watched_consumers.ts';

const kafka = useKafka();

interface Trouble {
  /** The next beat is answered as by a broker that is not the coordinator any more. */
  moved: boolean;
  /** So many joinings are answered as by a coordinator that is only just loading. */
  loading: number;
  /** How long each of those takes, and what has passed by them. */
  loadingMs: number;
  passedMs: number;
}

/** A client whose consumers meet what a broker's restart brings, but for certain. */
function troubled(brokers: string, trouble: Trouble): Kafka {
  const kafka = kafkaOf(brokers, uniqueName('member'));
  const consumer: Kafka['consumer'] = (config) => {
    const loading = () => ({
      name: 'loading',
      version: 0,
      assign: () => Promise.resolve([]),
      protocol: () => {
        if (trouble.loading === 0) return { name: 'loading', metadata: Buffer.alloc(0) };
        trouble.loading--;
        trouble.passedMs += trouble.loadingMs;
        throw Object.assign(new Error('the coordinator is loading'), {
          type: 'GROUP_LOAD_IN_PROGRESS',
          retriable: true,
        });
      },
    });
    const made = kafka.consumer({ ...config, partitionAssigners: [...(config.partitionAssigners ?? []), loading] });
    made.on(made.events.HEARTBEAT, () => {
      if (!trouble.moved) return;
      trouble.moved = false;
      throw Object.assign(new Error('not the coordinator'), { type: 'NOT_COORDINATOR_FOR_GROUP' });
    });
    return made;
  };
  return Object.assign(Object.create(kafka) as Kafka, { consumer });
}

test.for([
  ['a coordinator that is loading', 3, 0],
  ['one that is loading for longer than is waited for', 2, 6_000],
] as const)(
  'a member that joins again meets %s: it goes on with what comes',
  { timeout: 90_000 },
  async ([, times, loadingMs]) => {
    const world = kafka();
    const retryTopic = await createLane(world, 2, 1);
    const trouble: Trouble = { moved: false, loading: 0, loadingMs, passedMs: 0 };
    const realMs = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => realMs() + trouble.passedMs);
    onTestFinished(() => clock.mockRestore());
    const client = troubled(world.brokers, trouble);
    await joinStage(world, retryTopic, passOn(retryTopic.output, 1), { kafka: client });
    const before = numbered('before', 20, 2);
    await produce(world.kafka, retryTopic.input, before);
    await until('the first to be passed on', () => isDone(world, retryTopic));
    trouble.loading = times;
    trouble.moved = true;
    await until('the trouble to come and go', () => trouble.loading === 0);
    const after = numbered('after', 20, 2);
    await produce(world.kafka, retryTopic.input, after);
    await until('the others to be passed on', () => isDone(world, retryTopic));
    const expected = [...before, ...after].map(({ value }) => value);
    expect(differences(await readCommitted(world.kafka, retryTopic.output, 1), expected)).toEqual([]);
  },
);

test('a member that stops while it joins again waits for none of the others', { timeout: 90_000 }, async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 2, 1);
  const pass = passOn(retryTopic.output, 1);
  const released = Promise.withResolvers<void>();
  let held = false;
  const work: typeof pass = async (batch) => {
    held = true;
    await released.promise;
    return pass(batch);
  };
  const first = await joinStage(world, retryTopic, work, { drainMs: 120_000 });
  await until('a member', () => first.assigned().length === 2);
  let others = 0;
  const { kafka: client, watched } = watchedConsumers(world.brokers);
  const counting: typeof pass = async (batch) => {
    others++;
    return pass(batch);
  };
  const second = await joinStage(world, retryTopic, counting, { kafka: client });
  await until('both to have a partition', () => first.assigned().length === 1 && second.assigned().length === 1);
  const texts = numbered('work', 20, 2);
  await produce(world.kafka, retryTopic.input, texts);
  await until('both to have work', () => held && others > 0);
  // The first drains its batch before it joins again; the second waits for it in its joining.
  const before = watched.joining;
  const third = joinStage(world, retryTopic, pass);
  await until('the second to join again', () => watched.joining > before);
  await second.stop();
  expect(await stateOf(world, retryTopic)).toBe('PreparingRebalance');
  released.resolve();
  await third;
  await until('the group to be done', () => isDone(world, retryTopic));
  expect(differences(await readCommitted(world.kafka, retryTopic.output, 1), valuesOf(texts))).toEqual([]);
});
