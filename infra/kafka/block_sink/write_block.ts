import { failpoint } from '#infra/failpoint/failpoint.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { runAtBarrier } from '#infra/kafka/consumer/partition_barrier.ts';
import { nameOf, type TopicPartition } from '#infra/kafka/consumer/partition_state.ts';
import {
  type BlockPlan,
  type Gathered,
  PLAN_PARTITIONS_MAX,
  planOf,
  rowsOf,
  tokenOf,
  writePlan,
} from '#pipelines/warehouse/block.ts';
import type { SinkState } from './sink_state.ts';

/** In flush intervals since the last block was begun: what waits is then written, whether a batch comes or not. */
const OVERDUE_INTERVALS = 1.25;

/** Flush intervals since the topic's last block was begun. Until the first one, since the start of the process. */
export function intervalsSince<Row>({ options, begunMs, startedMs }: SinkState<Row>, topic: string): number {
  return (options.nowMs() - (begunMs.get(topic) ?? startedMs)) / options.flushIntervalMs;
}

/** Begins a block of each topic whose rows have waited too long. */
export function writeOverdue<Row>(sink: SinkState<Row>): void {
  for (const topic of sink.options.topics) {
    if (intervalsSince(sink, topic) >= OVERDUE_INTERVALS) void writeTopic(sink, topic);
  }
}

/** Writes the rows of a topic's partitions in one block, if there are any and no block of it is being written. */
export async function writeTopic<Row>(sink: SinkState<Row>, topic: string): Promise<void> {
  const { consumption, writing } = sink;
  if (consumption === null || writing.has(topic)) return;
  const some = waitingIn(sink, topic)
    .toSorted(([, one], [, other]) => one.openedMs - other.openedMs)
    .slice(0, PLAN_PARTITIONS_MAX);
  // Rows that were gathered may be of a partition that is another member's by now.
  if (some.length === 0) return;
  sink.begunMs.set(topic, sink.options.nowMs());
  const done = runAtBarrier(
    consumption,
    some.map(([at]) => at),
    (ours) => writeBlock(sink, topic, ours),
  ).finally(() => writing.delete(topic));
  writing.set(topic, { names: new Set(some.map(([at]) => nameOf(at))), done });
  await done;
}

/** Waits while a topic's partitions hold a full block or more, the one that is being written included. */
export async function awaitCapacity<Row>(sink: SinkState<Row>, at: TopicPartition): Promise<void> {
  while (isFull(sink, at.topic)) {
    const running = sink.writing.get(at.topic);
    if (running === undefined) return void writeTopic(sink, at.topic);
    if (running.names.has(nameOf(at))) return;
    await running.done;
  }
}

function waitingIn<Row>({ consumption, open }: SinkState<Row>, topic: string): [TopicPartition, Gathered<Row>][] {
  const all = consumption?.assigned() ?? [];
  return all.flatMap((at): [TopicPartition, Gathered<Row>][] => {
    const gathered = at.topic === topic ? open.get(nameOf(at)) : undefined;
    return gathered === undefined ? [] : [[at, gathered]];
  });
}

function isFull<Row>(sink: SinkState<Row>, topic: string): boolean {
  let held = { rows: 0, bytes: 0 };
  for (const [, { rows, bytes }] of waitingIn(sink, topic)) {
    held = { rows: held.rows + rows.length, bytes: held.bytes + bytes };
  }
  return held.rows >= sink.options.blockRowsMax || held.bytes >= sink.options.blockBytesMax;
}

/** Plans, inserts and commits one block of the rows of these partitions. Runs in their turns only. */
export async function writeBlock<Row>(
  sink: SinkState<Row>,
  topic: string,
  partitions: readonly TopicPartition[],
): Promise<void> {
  const { consumption, open } = sink;
  if (consumption === null) throw new Error('sink not running');
  const parts = new Map<number, Gathered<Row>>();
  for (const at of partitions) {
    const gathered = open.get(nameOf(at));
    if (gathered !== undefined) parts.set(at.partition, gathered);
  }
  if (parts.size === 0) return;
  const plan = planOf(parts);
  if (plan.size > 0) {
    await announce(sink, consumption, topic, plan);
    await insert(sink, topic, plan, parts);
  }
  failpoint('sink.after_insert');
  await commit(sink, consumption, topic, parts);
}

/** Writes the plan into the metadata of each partition's committed offset, which stays where it is. */
async function announce<Row>(
  { offsets, logOf }: SinkState<Row>,
  consumption: Consumption,
  topic: string,
  plan: BlockPlan,
): Promise<void> {
  const metadata = writePlan(plan, logOf.get(topic));
  await consumption.commitAll(
    [...plan].map(([partition, { first }]) => ({ topic, partition, offset: first, metadata })),
  );
  for (const [partition, { first }] of plan) offsets.passed({ topic, partition }, { offset: first, metadata });
  failpoint('sink.after_plan');
}

async function insert<Row>(
  { options, watchdog, logOf }: SinkState<Row>,
  topic: string,
  plan: BlockPlan,
  parts: ReadonlyMap<number, Gathered<Row>>,
): Promise<void> {
  const rows = rowsOf(plan, (partition) => parts.get(partition)?.rows ?? []);
  await watchdog.watch('an insert', (progressed) =>
    options.insert(topic, tokenOf(topic, plan, logOf.get(topic)), rows, false, progressed),
  );
}

async function commit<Row>(
  { options, offsets, open }: SinkState<Row>,
  consumption: Consumption,
  topic: string,
  parts: ReadonlyMap<number, Gathered<Row>>,
): Promise<void> {
  await consumption.commitAll(
    [...parts].map(([partition, { next }]) => ({ topic, partition, offset: next, metadata: '' })),
  );
  failpoint('sink.after_commit');
  for (const [partition, { rows, next }] of parts) {
    offsets.passed({ topic, partition }, { offset: next, metadata: '' });
    open.delete(nameOf({ topic, partition }));
    options.committed(topic, partition, rows);
  }
}
