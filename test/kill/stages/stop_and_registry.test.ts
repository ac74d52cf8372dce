import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TOPICS } from '#infra/kafka/topics.ts';
import { until } from '#test/harness/until.ts';
import { append, events, idsOn, newIds, rawRecord } from './stage_events.ts';
import { type StageProcess, type StageWorld, startStage, useStageWorld } from './stages_fixture.ts';

const TEST_MS = 150_000;
/** Guarantee G10. */
const STOP_MS = 25_000;
const RECORDS = 60;
const world = useStageWorld();

function startAll(at: StageWorld): StageProcess[] {
  return [
    startStage(at, 'dedup'),
    startStage(at, 'identity'),
    startStage(at, 'warehouse'),
    startStage(at, 'delivery', { DELIVERY_DESTINATION: 'webhook' }),
  ];
}

test('every stage stops on SIGTERM under load in time and with exit code 0, and its successor goes on', {
  timeout: TEST_MS,
}, async () => {
  const at = world();
  const first = startAll(at);
  await Promise.all(first.map(({ ready }) => ready));
  const ids = newIds(RECORDS * 20);
  const sending = (async () => {
    for (let record = 0; record < RECORDS; record++) {
      const some = ids.slice(20 * record, 20 * record + 20);
      await append(at, TOPICS.raw, record % at.eventPartitions, [await rawRecord(at, events('stop', some))]);
    }
  })();
  await until('events to be under way', async () => (await idsOn(at, TOPICS.unique, 'stop')).length > 0);
  const beganMs = performance.now();
  for (const stage of first) stage.kill('SIGTERM');
  expect(await Promise.all(first.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
  expect(performance.now() - beganMs).toBeLessThan(STOP_MS);
  expect(first.flatMap(({ log }) => log().filter(({ msg }) => msg === 'a part did not stop cleanly'))).toEqual([]);
  await sending;
  const second = startAll(at);
  await Promise.all(second.map(({ ready }) => ready));
  await until('all to pass', async () => (await idsOn(at, TOPICS.identified, 'stop')).length >= ids.length);
  await sleep(1_000);
  expect((await idsOn(at, TOPICS.identified, 'stop')).sort()).toEqual([...ids].sort());
});

test('without the registry a stage that runs goes on, and one that starts waits for it', {
  timeout: TEST_MS,
}, async () => {
  const at = world();
  const warm = startStage(at, 'dedup');
  await warm.ready;
  const ids = newIds(40);
  const records = [
    await rawRecord(at, events('warm', ids.slice(0, 20))),
    await rawRecord(at, events('warm', ids.slice(20))),
  ];
  await append(at, TOPICS.raw, 0, records.slice(0, 1));
  const committed = async (): Promise<number> => {
    const [topic] = await at.session.admin.fetchOffsets({ groupId: at.session.groupOf('dedup'), topics: [TOPICS.raw] });
    return Number(topic?.partitions.find(({ partition }) => partition === 0)?.offset);
  };
  const end = async (): Promise<number> =>
    Number((await at.session.admin.fetchTopicOffsets(TOPICS.raw)).find(({ partition }) => partition === 0)?.high);
  await until('the first record to be done', async () => (await committed()) === (await end()));
  at.parts.registry?.kill('SIGKILL');
  const cold = startStage(at, 'identity');
  await append(at, TOPICS.raw, 0, records.slice(1));
  await until('the second record to be done', async () => (await committed()) === (await end()));
  await cold.said('the registry does not answer, trying again');
  expect(await warm.readiness()).toBe(200);
  await at.parts.registry?.start();
  await cold.ready;
  expect((await idsOn(at, TOPICS.unique, 'warm')).sort()).toEqual([...ids].sort());
});
