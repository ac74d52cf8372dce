import { createMutex } from './mutex.ts';

/**
 * How a partition's records are to be taken that may have killed the process.
 *
 * - together: as ever; nothing is known against them.
 * - alone: one by one, and only one in the whole process, so that a death says whose fault it was.
 * - bury: the first of them killed the process whenever it was taken alone.
 */
export type Suspicion = { kind: 'together'; starts: number } | { kind: 'alone'; starts: number } | { kind: 'bury' };

/** Starts that may end in the same batch before its records are taken one by one. */
const TOGETHER_MAX = 2;
/** Starts that may end in the same record before it is buried. More than somebody else's kills in a row: memory, hands. */
const ALONE_MAX = 6;

const FORM = /^(starts|alone):(\d{1,3})$/;

/**
 * What the starts before this one say of the partition's next records. The metadata stands at the committed offset: each
 * start writes it before it takes the records behind it, and the commit that passes them has none.
 */
export function suspicionOf(metadata: string): Suspicion {
  const [, kind, count] = FORM.exec(metadata) ?? [];
  const starts = Number(count ?? 0);
  if (kind === 'alone') return starts >= ALONE_MAX ? { kind: 'bury' } : { kind: 'alone', starts: starts + 1 };
  return starts >= TOGETHER_MAX ? { kind: 'alone', starts: 1 } : { kind: 'together', starts: starts + 1 };
}

/** What is to stand at the committed offset while the records are taken. */
export function metadataOf(suspicion: Exclude<Suspicion, { kind: 'bury' }>): string {
  return `${suspicion.kind === 'alone' ? 'alone' : 'starts'}:${suspicion.starts}`;
}

/** Held by the one suspect of the process that is being taken. */
export const alone = createMutex();
