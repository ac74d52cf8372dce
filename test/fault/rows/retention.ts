import { type Admin, Kafka, logLevel } from 'kafkajs';
import { retryTopicName } from '#pipelines/delivery/retry_topics.ts';
import { until } from '#test/harness/until.ts';
import type { Row, RowContext } from '../row.ts';

const STAGE = 'delivery.webhook';
const GROUP = `svc.${STAGE}`;
const LANE = retryTopicName('webhook', '5s');
/** A breaker that opened twice closes again within this. */
const REACHED_MS = 240_000;
/** A transaction's marker, behind which offsets are committed. */
const MARKER = 1;

/**
 * Retention deletes all that was on a retry lane while nobody needs it, with the markers of the last transactions and the
 * offset that is committed before them; then its stage starts anew, and the lane is needed again.
 */
export const IDLE_LANE: Row = {
  name: 'retention.idle_lane',
  oneProcess: true,
  resends: true,
  requestsPerSecond: 20,
  async fault(context) {
    const { world, untilSent, ledger, events } = context;
    const kafka = new Kafka({ brokers: world.addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();
    try {
      await untilSent(events / 4);
      await throughLane(context, admin);
      await stopWhenRead(context, admin);
      await deleteAll(admin);
      await world.fleet.restart(STAGE);
      await throughLane(context, admin);
      await untilSent(ledger.size() + events / 4);
    } finally {
      await admin.disconnect();
    }
  },
};

/** The destination refuses until the lane has events, all of a site on one partition, and then takes them. */
async function throughLane({ world, site }: RowContext, admin: Admin): Promise<void> {
  const before = await endsOf(admin);
  await setRules(world.standins.webhook, [{ fault: { kind: 'status', status: 503 }, scope: site.scopes.webhook }]);
  await until(
    'events on the lane',
    () => endsOf(admin),
    (ends) => ends.some((end, partition) => end > (before[partition] ?? 0)),
    { timeoutMs: REACHED_MS },
  );
  await setRules(world.standins.webhook, []);
  await untilRead(admin);
}

/**
 * The stage is killed at a moment at which nothing is on the lane. One that is told to stop puts there what it has in hand,
 * and under a steady load on a busy machine that is always something; a breaker that is still open does as well.
 */
async function stopWhenRead({ world }: RowContext, admin: Admin): Promise<void> {
  for (;;) {
    await world.fleet.stop(STAGE, 'SIGKILL');
    if (isRead(await placesOf(admin))) return;
    await world.fleet.restart(STAGE);
    await untilRead(admin);
  }
}

/** The group is one marker behind each end, where a version that did not commit markers left it; the log begins at its end. */
async function deleteAll(admin: Admin): Promise<void> {
  const offsets = await admin.fetchTopicOffsets(LANE);
  const used = offsets.filter(({ high }) => Number(high) > 0);
  const partitions = used.map(({ partition, high }) => ({ partition, offset: high }));
  await until(
    'the group to be empty',
    async () => (await admin.describeGroups([GROUP])).groups[0]?.state,
    (state) => state === 'Empty',
    { timeoutMs: REACHED_MS },
  );
  await admin.setOffsets({
    groupId: GROUP,
    topic: LANE,
    partitions: partitions.map(({ partition, offset }) => ({ partition, offset: String(Number(offset) - MARKER) })),
  });
  await admin.deleteTopicRecords({ topic: LANE, partitions });
}

async function endsOf(admin: Admin): Promise<number[]> {
  const offsets = await admin.fetchTopicOffsets(LANE);
  return offsets.toSorted((one, other) => one.partition - other.partition).map(({ high }) => Number(high));
}

async function untilRead(admin: Admin): Promise<void> {
  await until('the lane to be read', () => placesOf(admin), isRead, { timeoutMs: REACHED_MS });
}

function isRead(places: readonly { committed: number; end: number }[]): boolean {
  return places.every(({ committed, end }) => committed === end);
}

/**
 * By partition of the lane what is committed and where it ends, the same where all of it is read. What was deleted before
 * it was read cannot be: nothing is committed on a partition that gets no event afterwards.
 */
async function placesOf(admin: Admin): Promise<{ committed: number; end: number }[]> {
  const offsets = await admin.fetchTopicOffsets(LANE);
  const [topic] = await admin.fetchOffsets({ groupId: GROUP, topics: [LANE] });
  const committed = new Map(topic?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  return offsets.map(({ partition, low, high }) => ({
    committed: Math.max(Number(low), committed.get(partition) ?? 0),
    end: Number(high),
  }));
}

async function setRules(standin: string, rules: object[]): Promise<void> {
  const response = await fetch(`${standin}/_standin/script`, { method: 'POST', body: JSON.stringify({ rules }) });
  if (!response.ok) throw new Error(`the stand-in refused a script: ${response.status}`);
}
