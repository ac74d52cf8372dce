import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { openOffsetMarks } from '#infra/kafka/consumer/offset_marks.ts';
import { createPoisonPillGuard, type PoisonPillGuard } from '#infra/kafka/consumer/poison_pill_guard.ts';
import { openTopicIds } from '#infra/kafka/reader/topic_ids.ts';
import type { SinkOptions } from './block_sink_options.ts';
import { commitMetadata, deadLetterBatch, gatherBatch, gatherSearched } from './gather_rows.ts';
import { resume } from './planned_block.ts';
import { createSinkState, type SinkState } from './sink_state.ts';
import { writeOverdue } from './write_block.ts';

const LOOKS_PER_INTERVAL = 16;
const LOOK_MS_MIN = 25;

/**
 * Plan, insert, commit. One insert takes what all owned partitions of a topic have, so that parts do not grow in number
 * with partitions. Before it the ranges of all of them are written into the metadata of the committed offset of each, in
 * one request, the offsets unchanged; after it the offsets behind the ranges are committed. Whoever takes one of the
 * partitions after a crash finds the plan, reads all its ranges, whoever owns them by now, forms the same block and
 * inserts it under the same token, which the table drops if it has it already. Only then it goes on behind its range.
 */
export async function runSink<Row>(options: SinkOptions<Row>): Promise<Consumption> {
  const logs = await openTopicIds(options.kafka);
  const marks = await openOffsetMarks(options, logs);
  const sink = createSinkState(options, logs, marks);
  const guard = guardOf(sink);
  const running = await consume({
    ...options,
    handlers: {
      acquire: (at, _generation, progressed) =>
        resume(sink, at, (metadata) => guard.acquired(at, metadata), progressed),
      process: guard.process,
    },
  });
  sink.consumption = running;
  sink.started.resolve(running);
  const timer = setInterval(
    () => writeOverdue(sink),
    Math.max(LOOK_MS_MIN, options.flushIntervalMs / LOOKS_PER_INTERVAL),
  );
  return {
    ...running,
    async stop() {
      clearInterval(timer);
      await running.stop();
      await marks.close();
      await logs.close();
    },
  };
}

function guardOf<Row>(sink: SinkState<Row>): PoisonPillGuard {
  const { deadLetter, logger } = sink.options;
  return createPoisonPillGuard({
    commitMetadata: (batch, offset, metadata) => commitMetadata(sink, batch, offset, metadata),
    process: (batch) => gatherBatch(sink, batch),
    processSearched: (batch, kind) => gatherSearched(sink, batch, kind),
    deadLetter: deadLetter && ((batch) => deadLetterBatch(sink, batch)),
    logger,
  });
}
