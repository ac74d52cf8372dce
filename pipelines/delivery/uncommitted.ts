import type { EntryOutcome } from './contract.ts';

/** Partition of a topic that attempts were read from. */
export interface Source {
  topic: string;
  partition: number;
}

/** Where an attempt at an event stands in its source: the record's offset and the event's place in the record, from 0. */
export interface Place {
  offset: number;
  index: number;
}

/** What a platform made of an attempt. */
interface GivenOutcome {
  outcome: EntryOutcome;
  attemptedAtMs: number;
}

/**
 * Outcomes that a platform has given and that are not committed yet. Where their transaction fails the same attempts are
 * read again: they are found here, and not sent a second time.
 */
export interface UncommittedOutcomes {
  of(source: Source, place: Place): GivenOutcome | null;
  keep(source: Source, place: Place, given: GivenOutcome): void;
  /** What lies before the offset is committed. */
  committed(source: Source, offset: number): void;
  /** What is kept of a source is to be decided anew. */
  forget(source: Source): void;
}

type OfRecord = Map<number, GivenOutcome>;

/**
 * Keeps at most `outcomesMax` outcomes. When there are more, the records that came first are forgotten: were their
 * transaction to fail, their events would be sent again under the same keys.
 */
export function createUncommittedOutcomes(outcomesMax: number): UncommittedOutcomes {
  const sources = new Map<string, Map<number, OfRecord>>();
  let count = 0;

  function drop(name: string, offset: number): void {
    const records = sources.get(name);
    count -= records?.get(offset)?.size ?? 0;
    records?.delete(offset);
    if (records?.size === 0) sources.delete(name);
  }

  function dropFirst(): void {
    const [source] = sources;
    const [offset] = source?.[1].keys() ?? [];
    if (source !== undefined && offset !== undefined) drop(source[0], offset);
  }

  return {
    of: (source, { offset, index }) => sources.get(nameOf(source))?.get(offset)?.get(index) ?? null,
    keep(source, { offset, index }, given) {
      const name = nameOf(source);
      while (count >= outcomesMax) dropFirst();
      const records = sources.get(name) ?? new Map<number, OfRecord>();
      sources.set(name, records);
      const ofRecord: OfRecord = records.get(offset) ?? new Map();
      records.set(offset, ofRecord);
      if (!ofRecord.has(index)) count += 1;
      ofRecord.set(index, given);
    },
    committed(source, offset) {
      const name = nameOf(source);
      for (const kept of [...(sources.get(name)?.keys() ?? [])]) if (kept < offset) drop(name, kept);
    },
    forget: (source) => {
      const name = nameOf(source);
      for (const kept of [...(sources.get(name)?.keys() ?? [])]) drop(name, kept);
    },
  };
}

const nameOf = ({ topic, partition }: Source): string => `${topic}/${partition}`;
