// Finds a record that kills the process whenever it is processed, across restarts, and makes it a dead letter.
import { createMutex } from '#infra/concurrency/gates.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { InRecord } from '../record.ts';
import type { Deferral, InBatch } from './consumption.ts';
import { nameOf, type TopicPartition } from './partition_state.ts';

interface PoisonPillGuardOptions {
  /** Commits an offset, before which all is done, with metadata that the next start reads if the process dies now. */
  commitMetadata(batch: InBatch, offset: number, metadata: string): Promise<void>;
  /** Processes a batch in which no poison pill is looked for. */
  process(batch: InBatch): Promise<Deferral | undefined>;
  /**
   * Processes records that may kill the process, with the metadata of the step at their committed offset. When it resolves
   * that metadata is gone, and unless the step is `batch` the records are committed.
   */
  processSearched(batch: InBatch, kind: ProcessingStep['kind']): Promise<Deferral | undefined>;
  /** Makes a dead letter of the one record of a batch and commits it. Absent: such a record is tried for ever. */
  deadLetter?: ((batch: InBatch) => Promise<Deferral | undefined>) | undefined;
  /** Told when a search begins in a partition, and when it is over. */
  onSearch?: ((at: TopicPartition, isOn: boolean) => void) | undefined;
  logger: Logger;
}

export type PoisonPillGuard = ReturnType<typeof createPoisonPillGuard>;

/**
 * Makes dead letters of records that kill the process whenever they are taken, and of no others. Only the first batch of a
 * partition after a start of the process costs anything: before it is taken, its end is written into the metadata of the
 * committed offset. A process that finds such metadata of several starts takes what was being processed each time in groups,
 * then, where it died in a group, one by one, and in the end makes a dead letter of the record at which it always died.
 */
export function createPoisonPillGuard(options: PoisonPillGuardOptions) {
  const { commitMetadata, process, processSearched, deadLetter, onSearch, logger } = options;
  /** The step of each partition from whose committed offset this process has not taken the records yet. */
  const searches = new Map<string, SearchStep>();
  const known = new Set<string>();

  async function processNoted(batch: InBatch, offset: number, step: ProcessingStep): Promise<Deferral | undefined> {
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

  async function takePiece(batch: InBatch, { records, step }: Piece<InRecord>): Promise<Deferral | undefined> {
    const piece = { ...batch, records };
    const first = records[0]?.offset ?? 0;
    if (step.kind === 'batch') return processNoted(piece, first, step);
    const facts = { topic: batch.topic, partition: batch.partition, offset: first, last: records.at(-1)?.offset };
    logger.warn({ ...facts, step: step.kind }, 'the process died here before, searching for the poison pill');
    onSearch?.(batch, true);
    return alone.run(async () => {
      if (step.kind !== 'dead_letter') return processNoted(piece, first, step);
      const leave = await deadLetter?.(piece);
      searches.delete(nameOf(batch));
      return leave;
    });
  }

  async function search(batch: InBatch, step: SearchStep): Promise<Deferral | undefined> {
    const [first, ...more] = batch.records.filter(({ offset }) => offset <= step.last);
    const pieces = first === undefined ? [] : piecesOf([first, ...more], step);
    for (const piece of pieces) {
      const leave = await takePiece(batch, piece);
      if (leave !== undefined) return leave;
    }
    searches.delete(nameOf(batch));
    if (step.kind !== 'batch') onSearch?.(batch, false);
    const others = batch.records.filter(({ offset }) => offset > step.last);
    return others.length === 0 ? undefined : process({ ...batch, records: others });
  }

  return {
    /** Takes the metadata at a partition's committed offset; to be called whenever the partition is acquired. */
    acquired(at: TopicPartition, metadata: string): void {
      // Only a start of the process counts: a record that fails without killing it is no poison pill.
      if (!known.has(nameOf(at))) searches.set(nameOf(at), searchStepOf(metadata));
      known.add(nameOf(at));
    },
    async process(batch: InBatch): Promise<Deferral | undefined> {
      if (batch.records.length === 0) return undefined;
      const step = searches.get(nameOf(batch));
      if (step === undefined || deadLetter === undefined) return process(batch);
      return search(batch, step);
    },
  };
}

/**
 * How to take the records of a partition among which a poison pill may be: those up to offset `last`, which were being
 * processed each time the process died.
 *
 * - batch: in one batch, as always; nothing points to any of them.
 * - few: in groups of about as many records as there are groups, and only one group at a time in the whole process, so that
 *   a death tells which group holds the poison pill.
 * - alone: one by one, and only one at a time in the whole process.
 * - dead_letter: the first of them killed the process each time it was taken alone.
 */
export type SearchStep =
  | { kind: 'batch'; starts: number; last: number }
  | { kind: 'few'; last: number }
  | { kind: 'alone'; starts: number; last: number }
  | { kind: 'dead_letter'; last: number };

/** A step whose records are processed. */
export type ProcessingStep = Exclude<SearchStep, { kind: 'dead_letter' }>;

/** Starts that may end in the same batch before its records are taken in groups. */
const BATCH_STARTS_MAX = 2;
/**
 * Starts that may end in the same record before it becomes a dead letter. More than other causes kill a process in a row:
 * lack of memory, an operator.
 */
const ALONE_STARTS_MAX = 6;

const FORM = /^(starts|few|alone):(\d{1,3})(?::(\d{1,16}))?$/;

/**
 * The step that follows from what earlier starts of the process wrote down. The metadata is that of the committed offset:
 * each start writes it before it takes the records behind that offset, and the commit that passes them has none.
 */
export function searchStepOf(metadata: string): SearchStep {
  const [, kind, count, end] = FORM.exec(metadata) ?? [];
  const starts = Number(count ?? 0);
  const last = Number(end ?? Number.POSITIVE_INFINITY);
  if (kind === 'few') return { kind: 'alone', starts: 1, last };
  if (kind === 'alone') {
    return starts >= ALONE_STARTS_MAX ? { kind: 'dead_letter', last } : { kind, starts: starts + 1, last };
  }
  return starts >= BATCH_STARTS_MAX ? { kind: 'few', last } : { kind: 'batch', starts: starts + 1, last };
}

/** The metadata of the committed offset while the records are processed. */
export function metadataOf(step: ProcessingStep): string {
  if (step.kind === 'few') return `few:1:${step.last}`;
  return `${step.kind === 'batch' ? 'starts' : 'alone'}:${step.starts}:${step.last}`;
}

interface Piece<Rec> {
  records: Rec[];
  step: SearchStep;
}

/** Cuts records, at least one, into what is taken at once; the `last` of each piece is the offset of a record. */
export function piecesOf<Rec extends { offset: number }>(
  records: readonly [Rec, ...Rec[]],
  step: SearchStep,
): Piece<Rec>[] {
  const last = Math.min(step.last, (records.at(-1) ?? records[0]).offset);
  if (step.kind === 'batch') return [{ records: [...records], step: { ...step, last } }];
  if (step.kind === 'few') return groupsOf(records);
  const [first, ...others] = records;
  const alone = others.map((record) => ({ records: [record], step: { kind: 'alone', starts: 1, last } as const }));
  return [{ records: [first], step: { ...step, last } }, ...alone];
}

/** A death in a group leads to one of a single record: of n records at most about 2 √n pieces are taken, not n. */
function groupsOf<Rec extends { offset: number }>(records: readonly [Rec, ...Rec[]]): Piece<Rec>[] {
  const size = Math.ceil(Math.sqrt(records.length));
  return Array.from({ length: Math.ceil(records.length / size) }, (_, index) => {
    const group = records.slice(index * size, (index + 1) * size);
    const last = (group.at(-1) ?? records[0]).offset;
    return {
      records: group,
      step: group.length === 1 ? { kind: 'alone', starts: 1, last } : { kind: 'few', last },
    };
  });
}

/** Held while the process takes a piece that may hold a poison pill: one at a time. */
const alone = createMutex();
