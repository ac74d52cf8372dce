import { createWatchdog, WATCHDOG_MS, type Watchdog } from '#infra/concurrency/watchdog.ts';
import type { OffsetMarks } from '#infra/kafka/consumer/committed_offsets.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { createGroupOffsets, type GroupOffsets } from '#infra/kafka/consumer/group_offsets.ts';
import type { TopicIds } from '#infra/kafka/reader/topic_ids.ts';
import type { Gathered } from '#pipelines/warehouse/block.ts';
import type { SinkOptions } from './block_sink_options.ts';

/** The state of a sink in one process. The modules beside this one are the steps that change it. */
export interface SinkState<Row> {
  readonly options: SinkOptions<Row>;
  readonly offsets: GroupOffsets;
  readonly watchdog: Watchdog;
  readonly logs: Pick<TopicIds, 'of'>;
  /** The id of each topic, as it was when one of its partitions was acquired last. */
  readonly logOf: Map<string, string>;
  /** Rows of each partition that are not written yet, by its name. */
  readonly open: Map<string, Gathered<Row>>;
  /** The block of each topic that is being written. */
  readonly writing: Map<string, Writing>;
  readonly startedMs: number;
  /** When the last block of each topic was begun. */
  readonly begunMs: Map<string, number>;
  /** How many batches of each topic are being made into rows. */
  readonly converting: Map<string, number>;
  /** Planned blocks, by token, that this process finishes or has finished: their other partitions need not insert them. */
  readonly finished: Map<string, Finishing>;
  /** Resolves when the consumer runs. */
  readonly started: PromiseWithResolvers<Consumption>;
  consumption: Consumption | null;
}

/** A planned block that is being finished, or is, and how to tell the partitions that wait for it of its progress. */
interface Finishing {
  done: Promise<void>;
  waiting: Set<() => void>;
}

/** A block of a topic that is being written. */
interface Writing {
  /** The partitions in it, by name; they rest until it is done. */
  names: Set<string>;
  done: Promise<void>;
}

export function createSinkState<Row>(
  options: SinkOptions<Row>,
  logs: Pick<TopicIds, 'of'>,
  marks: OffsetMarks,
): SinkState<Row> {
  return {
    options,
    offsets: createGroupOffsets(options.admin, options.groupId, marks),
    watchdog: createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal }),
    logs,
    logOf: new Map(),
    open: new Map(),
    writing: new Map(),
    startedMs: options.nowMs(),
    begunMs: new Map(),
    converting: new Map(),
    finished: new Map(),
    started: Promise.withResolvers(),
    consumption: null,
  };
}
