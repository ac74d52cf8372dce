import { createMutex } from '#infra/concurrency/mutex.ts';

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
  switch (step.kind) {
    case 'batch':
      return `starts:${step.starts}:${step.last}`;
    case 'few':
      return `few:1:${step.last}`;
    case 'alone':
      return `alone:${step.starts}:${step.last}`;
  }
}

/** Records that are taken at once, and how. */
export interface Piece<Rec> {
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
export const alone = createMutex();
