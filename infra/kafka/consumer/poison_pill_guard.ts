import type { InRecord } from '#infra/kafka/record.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { InBatch, Leave } from './in_batch.ts';
import type { TopicPartition } from './partition_state.ts';
import { nameOf } from './partition_state.ts';
import {
  alone,
  metadataOf,
  type Piece,
  piecesOf,
  type Suspected,
  type Suspicion,
  suspicionOf,
} from './poison_pill_search.ts';

export interface CrashGuardOptions {
  /** Commits an offset, in front of which all is passed, with what is to be known there if the process dies now. */
  mark(batch: InBatch, offset: number, metadata: string): Promise<void>;
  take(batch: InBatch): Promise<Leave | undefined>;
  /**
   * Takes records that may kill the process. They are marked; the mark is to be gone when it resolves, and what is not
   * taken together is to be committed then.
   */
  takeSuspects(batch: InBatch, kind: Suspected['kind']): Promise<Leave | undefined>;
  /** Puts the one record of a batch away and commits it. Absent: such a record is tried for ever. */
  bury?: ((batch: InBatch) => Promise<Leave | undefined>) | undefined;
  logger: Logger;
}

export interface CrashGuard {
  /** To be told of the metadata at a partition's committed offset whenever it is acquired. */
  acquired(at: TopicPartition, metadata: string): void;
  process(batch: InBatch): Promise<Leave | undefined>;
}

/**
 * Puts records away that kill the process whenever they are taken, and no others. Only the first batch of a partition after
 * a start of the process costs anything: it is marked at the committed offset before it is taken, with where it ends. A
 * process that finds such marks of several starts before it takes what was in hand each time in groups, then, where it died
 * at a group, one by one, and in the end buries the record at which it always died.
 */
export function createCrashGuard({ mark, take, takeSuspects, bury, logger }: CrashGuardOptions): CrashGuard {
  const suspicions = new Map<string, Suspicion>();
  const known = new Set<string>();

  async function markedFirst(batch: InBatch, offset: number, suspicion: Suspected): Promise<Leave | undefined> {
    await mark(batch, offset, metadataOf(suspicion));
    // Not before it is written down: a start whose mark fails has to count too.
    suspicions.delete(nameOf(batch));
    return takeSuspects(batch, suspicion.kind).catch(async (error: unknown) => {
      // What fails without killing the process is no suspect.
      await mark(batch, offset, '').catch((failure: unknown) =>
        logger.info({ err: failure }, 'suspicion not taken back'),
      );
      throw error;
    });
  }

  async function takePiece(
    batch: InBatch,
    { records, suspicion }: Piece<InRecord>,
    putAway: NonNullable<CrashGuardOptions['bury']>,
  ): Promise<Leave | undefined> {
    const piece = { ...batch, records };
    const first = records[0]?.offset ?? 0;
    if (suspicion.kind === 'together') return markedFirst(piece, first, suspicion);
    const facts = { topic: batch.topic, partition: batch.partition, offset: first, last: records.at(-1)?.offset };
    logger.warn({ ...facts, suspicion: suspicion.kind }, 'the process died here before, taking records apart');
    return alone.run(async () => {
      if (suspicion.kind !== 'bury') return markedFirst(piece, first, suspicion);
      const leave = await putAway(piece);
      suspicions.delete(nameOf(batch));
      return leave;
    });
  }

  async function takeSuspected(
    batch: InBatch,
    suspicion: Suspicion,
    putAway: NonNullable<CrashGuardOptions['bury']>,
  ): Promise<Leave | undefined> {
    const [first, ...more] = batch.records.filter(({ offset }) => offset <= suspicion.last);
    const pieces = first === undefined ? [] : piecesOf([first, ...more], suspicion);
    for (const piece of pieces) {
      const leave = await takePiece(batch, piece, putAway);
      if (leave !== undefined) return leave;
    }
    suspicions.delete(nameOf(batch));
    const others = batch.records.filter(({ offset }) => offset > suspicion.last);
    return others.length === 0 ? undefined : take({ ...batch, records: others });
  }

  return {
    acquired(at, metadata) {
      // Only a start of the process counts: what fails without killing it is no suspect.
      if (!known.has(nameOf(at))) suspicions.set(nameOf(at), suspicionOf(metadata));
      known.add(nameOf(at));
    },
    async process(batch) {
      if (batch.records.length === 0) return undefined;
      const suspicion = suspicions.get(nameOf(batch));
      if (suspicion === undefined || bury === undefined) return take(batch);
      return takeSuspected(batch, suspicion, bury);
    },
  };
}
