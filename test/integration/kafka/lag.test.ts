import { expect, onTestFinished, test } from 'vitest';
import { readStages, watchLag } from '#infra/kafka/consumer/lag_watch.ts';
import { createTopic, produce, quiet, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { setOffset } from './set_offset.ts';
import { useKafka } from './stage_fixture.ts';

const kafka = useKafka();

/** Not a time long ago: the broker deletes what is old. */
const NOW_MS = Date.now();
const MINUTE_MS = 60_000;

/** A topic whose partitions have records of so many minutes ago, and a group that has committed some of them. */
async function backlog(ages: readonly (readonly number[])[], committed: readonly number[]) {
  const { kafka: client, admin } = kafka();
  const topic = await createTopic(client, 'in', ages.length);
  const stamp = (minutes: number): string => String(NOW_MS - minutes * MINUTE_MS);
  const records = ages.flatMap((ones, partition) =>
    ones.map((minutes) => ({ partition, key: 'key', value: 'value', timestamp: stamp(minutes) })),
  );
  await produce(client, topic, records);
  const groupId = uniqueName('group');
  for (const [partition, offset] of committed.entries()) {
    const at = { partition, offset: String(offset), metadata: '' };
    await setOffset({ kafka: client, admin }, { groupId, topic }, at);
  }
  return { admin, topic, groupId };
}

/** What the first look of a process says of each partition, in minutes. */
async function firstLook({ admin, topic, groupId }: Awaited<ReturnType<typeof backlog>>, partitions: number) {
  const looks: (readonly { waitsMs: number }[])[] = [];
  const stop = watchLag({
    admin,
    groupId,
    progress: () => [],
    assigned: () => Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
    onLags: (lags) => looks.push(lags),
    logger: quiet,
    nowMs: () => 0,
    wallMs: () => NOW_MS,
    intervalMs: 10,
  });
  onTestFinished(stop);
  await until('a look', async () => looks.length > 0);
  return looks[0]?.map(({ waitsMs }) => waitsMs / MINUTE_MS);
}

test.each([
  ['behind what was taken', [[500, 30, 2], [500, 30, 2], [0]], [1, 3, 0], 30],
  ['from the beginning on', [[0], [700]], [0, 0], 700],
  ['in the first seconds', [[0.2, 0.1], [0]], [0, 0], 0.2],
])(
  'a process that begins knows for how long what it finds %s has been waiting',
  async (_, ages, committed, minutes) => {
    const oldest = Math.max(...((await firstLook(await backlog(ages, committed), ages.length)) ?? []));
    expect(oldest).toBeLessThanOrEqual(minutes);
    expect(oldest).toBeGreaterThanOrEqual(minutes - Math.max(0.5, minutes / 10));
  },
);

test('control says the same of a stage', async () => {
  const { admin, topic, groupId } = await backlog([[500, 30, 2], [0]], [1, 0]);
  const [reading] = await readStages({ admin, groupOf: () => groupId, nowMs: () => NOW_MS }, ['stage']);
  expect(reading?.waitsMs).toEqual(new Map([[topic, 10 * MINUTE_MS]]));
});
