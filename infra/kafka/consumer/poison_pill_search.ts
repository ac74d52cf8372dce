import { createMutex } from '#infra/concurrency/mutex.ts';

/**
 * How a partition's records are to be taken that may have killed the process: those up to offset `last`, which were in
 * hand whenever it died.
 *
 * - together: as ever; nothing is known against them.
 * - few: in groups of about as many as there are groups, and only one group in the whole process, so that a death says
 *   whose fault it was.
 * - alone: one by one, and only one in the whole process.
 * - bury: the first of them killed the process whenever it was taken alone.
 */
export type Suspicion =
  | { kind: 'together'; starts: number; last: number }
  | { kind: 'few'; last: number }
  | { kind: 'alone'; starts: number; last: number }
  | { kind: 'bury'; last: number };

/** Suspicion of records that are taken and not put away. */
export type Suspected = Exclude<Suspicion, { kind: 'bury' }>;

/** Starts that may end in the same batch before its records are taken in groups. */
const TOGETHER_MAX = 2;
/** Starts that may end in the same record before it is buried. More than somebody else's kills in a row: memory, hands. */
const ALONE_MAX = 6;

const FORM = /^(starts|few|alone):(\d{1,3})(?::(\d{1,16}))?$/;

/**
 * What the starts before this one say of the partition's next records. The metadata stands at the committed offset: each
 * start writes it before it takes the records behind it, and the commit that passes them has none.
 */
export function suspicionOf(metadata: string): Suspicion {
  const [, kind, count, end] = FORM.exec(metadata) ?? [];
  const starts = Number(count ?? 0);
  const last = Number(end ?? Number.POSITIVE_INFINITY);
  if (kind === 'few') return { kind: 'alone', starts: 1, last };
  if (kind === 'alone') return starts >= ALONE_MAX ? { kind: 'bury', last } : { kind, starts: starts + 1, last };
  return starts >= TOGETHER_MAX ? { kind: 'few', last } : { kind: 'together', starts: starts + 1, last };
}

/** What is to stand at the committed offset while the records are taken. */
export function metadataOf(suspicion: Suspected): string {
  switch (suspicion.kind) {
    case 'together':
      return `starts:${suspicion.starts}:${suspicion.last}`;
    case 'few':
      return `few:1:${suspicion.last}`;
    case 'alone':
      return `alone:${suspicion.starts}:${suspicion.last}`;
  }
}

/** Records with what is known against them. */
export interface Piece<Rec> {
  records: Rec[];
  suspicion: Suspicion;
}

/** Cuts records, at least one, into what is to be taken at once; each piece's `last` is the offset of a record. */
export function piecesOf<Rec extends { offset: number }>(
  records: readonly [Rec, ...Rec[]],
  suspicion: Suspicion,
): Piece<Rec>[] {
  const last = Math.min(suspicion.last, (records.at(-1) ?? records[0]).offset);
  if (suspicion.kind === 'together') return [{ records: [...records], suspicion: { ...suspicion, last } }];
  if (suspicion.kind === 'few') return groupsOf(records);
  const [first, ...others] = records;
  const alone = others.map((record) => ({ records: [record], suspicion: { kind: 'alone', starts: 1, last } as const }));
  return [{ records: [first], suspicion: { ...suspicion, last } }, ...alone];
}

/** A death among few leads to one among single ones: of n records so at most about 2 √n pieces are taken, not n. */
function groupsOf<Rec extends { offset: number }>(records: readonly [Rec, ...Rec[]]): Piece<Rec>[] {
  const size = Math.ceil(Math.sqrt(records.length));
  return Array.from({ length: Math.ceil(records.length / size) }, (_, index) => {
    const group = records.slice(index * size, (index + 1) * size);
    const last = (group.at(-1) ?? records[0]).offset;
    return {
      records: group,
      suspicion: group.length === 1 ? { kind: 'alone', starts: 1, last } : { kind: 'few', last },
    };
  });
}

/** Held by the one suspect of the process that is being taken. */
export const alone = createMutex();
