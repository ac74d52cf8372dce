import type { Admin, Kafka } from 'kafkajs';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type Block, type BlockPlan, type Fill, openBlock, readPlan, writePlan } from '#pipelines/warehouse/block.ts';
import { type Consumption, consume, type InBatch, type TopicPartition } from './consume.ts';
import { committed } from './hop.ts';
import type { InRecord } from './record.ts';

export interface SinkOptions<Row> {
  kafka: Kafka;
  admin: Admin;
  groupId: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  concurrency: number;
  /** Rows of one record; must be the same whenever the record is read. */
  toRows(topic: string, partition: number, record: InRecord): Promise<Row[]>;
  /** Writes a block; the same token is the same rows, to be written once. */
  insert(topic: string, token: string, rows: readonly Row[]): Promise<void>;
  /** A block is written when it has this many rows or is this old. */
  blockRowsMax: number;
  blockAgeMaxMs: number;
  /** Called when a block is written and its offset committed. */
  committed(topic: string, partition: number, rows: readonly Row[], lag: number): void;
  nowMs(): number;
  logger: Logger;
  onFatal(error: unknown): void;
}

/**
 * Plan, insert, commit. Before a block is inserted its offset range is written into the metadata of the group's
 * committed offset, the offset unchanged; after the insert the offset behind the block is committed. Whoever takes the
 * partition after a crash finds the plan, reads the same range, forms the same block and inserts it under the same
 * token, which the table drops if it has it already.
 */
export async function runSink<Row>(options: SinkOptions<Row>): Promise<Consumption> {
  const blocks = new Map<string, Block<Row>>();
  let consumption: Consumption | null = null;

  async function acquire(at: TopicPartition): Promise<number | null> {
    blocks.delete(nameOf(at));
    const found = await committed(options.admin, options.groupId, at);
    const plan = found === null ? null : readPlan(found.metadata);
    if (plan !== null) {
      options.logger.info({ ...at, first: plan.first, last: plan.last }, 'taking up the planned block');
      blocks.set(nameOf(at), openBlock(plan, options.nowMs()));
    }
    return found === null ? null : found.offset;
  }

  async function process(batch: InBatch): Promise<undefined> {
    for (const record of batch.records) {
      const rows = await options.toRows(batch.topic, batch.partition, record);
      if (blockOf(batch).isPast(record.offset)) await close(batch);
      const block = blockOf(batch);
      block.add({ offset: record.offset, rows });
      block.lag = batch.lag;
      if (block.isFull(options.blockRowsMax)) await flush(batch, block, () => batch.owned());
    }
    return undefined;
  }

  /** Ends a planned block whose last record is no longer there. */
  async function close(batch: InBatch): Promise<void> {
    await flush(batch, blockOf(batch), () => batch.owned());
    blocks.delete(nameOf(batch));
  }

  function blockOf(at: TopicPartition): Block<Row> {
    let block = blocks.get(nameOf(at));
    if (block === undefined) {
      block = openBlock<Row>(null, options.nowMs());
      blocks.set(nameOf(at), block);
    }
    return block;
  }

  async function flush(at: TopicPartition, block: Block<Row>, owned: () => boolean): Promise<void> {
    const fill = block.fill();
    if (fill === null || !owned()) return;
    await write(at, fill, block.planned);
    blocks.delete(nameOf(at));
    options.committed(at.topic, at.partition, fill.rows, block.lag);
  }

  async function write(at: TopicPartition, fill: Fill<Row>, planned: BlockPlan | null): Promise<void> {
    if (consumption === null) throw new Error('sink not running');
    const plan = { first: fill.first, last: fill.last };
    if (planned === null && fill.rows.length > 0) await consumption.commit(at, fill.first, writePlan(plan));
    failpoint('sink.after_plan');
    if (fill.rows.length > 0) await options.insert(at.topic, tokenOf(at, plan), fill.rows);
    failpoint('sink.after_insert');
    await consumption.commit(at, fill.last + 1, '');
    failpoint('sink.after_commit');
  }

  consumption = await consume({ ...options, handlers: { acquire, process } });
  const running = consumption;
  const timer = setInterval(
    () => {
      for (const at of running.assigned()) {
        const block = blocks.get(nameOf(at));
        if (block === undefined || !block.isDue(options.nowMs(), options.blockAgeMaxMs)) continue;
        void running.between(at, async () => {
          const current = blocks.get(nameOf(at));
          if (current !== undefined) await flush(at, current, () => true);
        });
      }
    },
    Math.max(50, options.blockAgeMaxMs / 8),
  );
  return {
    ...running,
    async stop() {
      clearInterval(timer);
      await running.stop();
    },
  };
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

/** The same range of a partition is the same token. */
export function tokenOf(at: TopicPartition, plan: BlockPlan): string {
  return `${at.topic}/${at.partition}/${plan.first}-${plan.last}`;
}
