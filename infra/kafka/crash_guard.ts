import type { Logger } from '#infra/log/logger.ts';
import type { InBatch, Leave, TopicPartition } from './consume.ts';
import { nameOf } from './slot.ts';
import { alone, metadataOf, type Suspicion, suspicionOf } from './suspects.ts';

export interface CrashGuardOptions {
  /** Commits an offset, in front of which all is passed, with what is to be known there if the process dies now. */
  mark(batch: InBatch, offset: number, metadata: string): Promise<void>;
  take(batch: InBatch): Promise<Leave | undefined>;
  /**
   * Takes records that may kill the process. They are marked; the mark is to be gone when it resolves, and one that is
   * taken alone is to be committed then.
   */
  takeSuspects(batch: InBatch, kind: 'together' | 'alone'): Promise<Leave | undefined>;
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
 * a start of the process costs anything: it is marked at the committed offset before it is taken. A process that finds such
 * marks of several starts before it takes the records one by one, and in the end buries the one at which it always died.
 */
export function createCrashGuard({ mark, take, takeSuspects, bury, logger }: CrashGuardOptions): CrashGuard {
  const suspicions = new Map<string, Suspicion>();
  const known = new Set<string>();

  async function markedFirst(
    batch: InBatch,
    offset: number,
    suspicion: Exclude<Suspicion, { kind: 'bury' }>,
  ): Promise<Leave | undefined> {
    await mark(batch, offset, metadataOf(suspicion));
    return takeSuspects(batch, suspicion.kind).catch(async (error: unknown) => {
      // What fails without killing the process is no suspect.
      await mark(batch, offset, '').catch((failure: unknown) =>
        logger.info({ err: failure }, 'suspicion not taken back'),
      );
      throw error;
    });
  }

  async function oneByOne(
    batch: InBatch,
    suspicion: Suspicion,
    putAway: NonNullable<CrashGuardOptions['bury']>,
  ): Promise<Leave | undefined> {
    let next = suspicion;
    for (const record of batch.records) {
      const single = { ...batch, records: [record] };
      const facts = { topic: batch.topic, partition: batch.partition, offset: record.offset };
      logger.warn({ ...facts, suspicion: next.kind }, 'the process died here before, taking records one by one');
      const current = next;
      const leave = await alone.run(() =>
        current.kind === 'bury' ? putAway(single) : markedFirst(single, record.offset, current),
      );
      if (leave !== undefined) return leave;
      next = { kind: 'alone', starts: 1 };
    }
    return undefined;
  }

  return {
    acquired(at, metadata) {
      // Only a start of the process counts: what fails without killing it is no suspect.
      if (!known.has(nameOf(at))) suspicions.set(nameOf(at), suspicionOf(metadata));
      known.add(nameOf(at));
    },
    async process(batch) {
      const [first] = batch.records;
      if (first === undefined) return undefined;
      const suspicion = suspicions.get(nameOf(batch));
      suspicions.delete(nameOf(batch));
      if (suspicion === undefined || bury === undefined) return take(batch);
      if (suspicion.kind === 'together') return markedFirst(batch, first.offset, suspicion);
      return oneByOne(batch, suspicion, bury);
    },
  };
}
