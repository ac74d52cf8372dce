import { nameOf, type TopicPartition } from '#infra/kafka/consumer/partition_state.ts';
import { readRanges } from '#infra/kafka/reader/read_ranges.ts';
import { type BlockPlan, gatherFrom, logOfPlan, readPlan, rowsOf, tokenOf } from '#pipelines/warehouse/block.ts';
import type { SinkOptions } from './block_sink_options.ts';
import type { SinkState } from './sink_state.ts';

/**
 * Reads the committed offset of a partition that was acquired. If its metadata holds the plan of a block, that block is
 * inserted first, whoever planned it, and the partition goes on behind its range.
 */
export async function resume<Row>(
  sink: SinkState<Row>,
  at: TopicPartition,
  onFound: (metadata: string) => void,
  progressed: () => void,
): Promise<number | null> {
  sink.open.delete(nameOf(at));
  const log = await sink.logs.of(at.topic);
  sink.logOf.set(at.topic, log);
  const found = await sink.offsets.of(at);
  onFound(found?.metadata ?? '');
  const planned = logOfPlan(found?.metadata ?? '');
  // What was planned of a topic that was there before under the name is gone with it.
  const isOurs = planned === '' || log === '' || planned === log;
  const plan = found === null || !isOurs ? null : readPlan(found.metadata, at.partition);
  const own = plan?.get(at.partition);
  if (plan === null || own === undefined) return found === null ? null : found.offset;
  await finishOnce(sink, at.topic, plan, tokenOf(at.topic, plan, planned), progressed);
  sink.open.set(nameOf(at), gatherFrom(own.last + 1, 0));
  return own.last + 1;
}

/** Finishes a block once for all its partitions; each that waits for it is told of its progress. */
function finishOnce<Row>(
  { finished, options }: SinkState<Row>,
  topic: string,
  plan: BlockPlan,
  token: string,
  progressed: () => void,
): Promise<void> {
  const known = finished.get(token);
  known?.waiting.add(progressed);
  if (known !== undefined) return known.done;
  const waiting = new Set([progressed]);
  const done = finish(options, topic, plan, token, () => {
    for (const tell of waiting) tell();
  }).finally(() => waiting.clear());
  finished.set(token, { done, waiting });
  // A failure is its caller's to see; the next one tries again.
  done.catch(() => finished.delete(token));
  return done;
}

async function finish<Row>(
  options: SinkOptions<Row>,
  topic: string,
  plan: BlockPlan,
  token: string,
  progressed: () => void,
): Promise<void> {
  options.logger.info({ token }, 'finishing the planned block');
  const { kafka, admin, groupId } = options;
  const records = await readRanges({ kafka, admin, topic, groupPrefix: groupId, ranges: plan });
  const rows = new Map<number, Row[]>();
  for (const [partition, of] of records) {
    const some: Row[] = [];
    for (const record of of) {
      some.push(...(await options.toRows(topic, partition, record)));
      progressed();
    }
    rows.set(partition, some);
  }
  const all = rowsOf(plan, (partition) => rows.get(partition) ?? []);
  if (all.length > 0) await options.insert(topic, token, all, true, progressed);
}
