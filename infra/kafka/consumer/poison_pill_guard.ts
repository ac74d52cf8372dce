import type { InRecord } from '#infra/kafka/record.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { InBatch, Leave } from './in_batch.ts';
import { nameOf, type TopicPartition } from './partition_state.ts';
import {
  alone,
  metadataOf,
  type Piece,
  type ProcessingStep,
  piecesOf,
  type SearchStep,
  searchStepOf,
} from './poison_pill_search.ts';

export interface PoisonPillGuardOptions {
  /** Commits an offset, before which all is done, with metadata that the next start reads if the process dies now. */
  commitMetadata(batch: InBatch, offset: number, metadata: string): Promise<void>;
  /** Processes a batch in which no poison pill is looked for. */
  process(batch: InBatch): Promise<Leave | undefined>;
  /**
   * Processes records that may kill the process, with the metadata of the step at their committed offset. When it resolves
   * that metadata is gone, and unless the step is `batch` the records are committed.
   */
  processSearched(batch: InBatch, kind: ProcessingStep['kind']): Promise<Leave | undefined>;
  /** Makes a dead letter of the one record of a batch and commits it. Absent: such a record is tried for ever. */
  deadLetter?: ((batch: InBatch) => Promise<Leave | undefined>) | undefined;
  logger: Logger;
}

export interface PoisonPillGuard {
  /** Takes the metadata at a partition's committed offset; to be called whenever the partition is acquired. */
  acquired(at: TopicPartition, metadata: string): void;
  process(batch: InBatch): Promise<Leave | undefined>;
}

/**
 * Makes dead letters of records that kill the process whenever they are taken, and of no others. Only the first batch of a
 * partition after a start of the process costs anything: before it is taken, its end is written into the metadata of the
 * committed offset. A process that finds such metadata of several starts takes what was being processed each time in groups,
 * then, where it died in a group, one by one, and in the end makes a dead letter of the record at which it always died.
 */
export function createPoisonPillGuard(options: PoisonPillGuardOptions): PoisonPillGuard {
  const { commitMetadata, process, processSearched, deadLetter, logger } = options;
  /** The step of each partition from whose committed offset this process has not taken the records yet. */
  const searches = new Map<string, SearchStep>();
  const known = new Set<string>();

  async function processNoted(batch: InBatch, offset: number, step: ProcessingStep): Promise<Leave | undefined> {
    await commitMetadata(batch, offset, metadataOf(step));
    // Not before it is written down: a start whose commit of it fails has to count too.
    searches.delete(nameOf(batch));
    return processSearched(batch, step.kind).catch(async (error: unknown) => {
      // A record that fails without killing the process is no poison pill.
      await commitMetadata(batch, offset, '').catch((failure: unknown) =>
        logger.info({ err: failure }, 'metadata of the poison pill search not removed'),
      );
      throw error;
    });
  }

  async function takePiece(
    batch: InBatch,
    { records, step }: Piece<InRecord>,
    makeDeadLetter: NonNullable<PoisonPillGuardOptions['deadLetter']>,
  ): Promise<Leave | undefined> {
    const piece = { ...batch, records };
    const first = records[0]?.offset ?? 0;
    if (step.kind === 'batch') return processNoted(piece, first, step);
    const facts = { topic: batch.topic, partition: batch.partition, offset: first, last: records.at(-1)?.offset };
    logger.warn({ ...facts, step: step.kind }, 'the process died here before, searching for the poison pill');
    return alone.run(async () => {
      if (step.kind !== 'dead_letter') return processNoted(piece, first, step);
      const leave = await makeDeadLetter(piece);
      searches.delete(nameOf(batch));
      return leave;
    });
  }

  async function search(
    batch: InBatch,
    step: SearchStep,
    makeDeadLetter: NonNullable<PoisonPillGuardOptions['deadLetter']>,
  ): Promise<Leave | undefined> {
    const [first, ...more] = batch.records.filter(({ offset }) => offset <= step.last);
    const pieces = first === undefined ? [] : piecesOf([first, ...more], step);
    for (const piece of pieces) {
      const leave = await takePiece(batch, piece, makeDeadLetter);
      if (leave !== undefined) return leave;
    }
    searches.delete(nameOf(batch));
    const others = batch.records.filter(({ offset }) => offset > step.last);
    return others.length === 0 ? undefined : process({ ...batch, records: others });
  }

  return {
    acquired(at, metadata) {
      // Only a start of the process counts: a record that fails without killing it is no poison pill.
      if (!known.has(nameOf(at))) searches.set(nameOf(at), searchStepOf(metadata));
      known.add(nameOf(at));
    },
    async process(batch) {
      if (batch.records.length === 0) return undefined;
      const step = searches.get(nameOf(batch));
      if (step === undefined || deadLetter === undefined) return process(batch);
      return search(batch, step, deadLetter);
    },
  };
}
