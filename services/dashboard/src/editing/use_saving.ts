import { useState } from 'preact/hooks';
import type { Meta } from '#services/control_api/fields.ts';
import type { Answer, Failure } from '../api/api_answer.ts';
import { type Difference, differences, type Facts, isSame } from './differences.ts';

/** A change of something that others may change as well. */
interface Wanted<Item extends Meta> {
  /** As it was when somebody decided on the change. */
  loaded: Item;
  /** What of it the change is about. */
  factsOf(item: Item): Facts;
  /** What is so after the change, made to it as it is here; null: it is gone. */
  kept(base: Item): Facts | null;
  /** Parts that somebody else changed as well, and that the change would replace as a whole. */
  replaced?(base: Item): readonly string[];
  /** As it is now. */
  read(): Promise<Answer<Item>>;
  /** Makes the change, if it is still as it is here. */
  write(base: Item): Promise<Answer<unknown>>;
  /** Whether it may replace what cannot be compared: somebody else may have changed a secret. */
  isBlind?: boolean;
  onSaved(saved: unknown): void;
  /** Shows what somebody else has made of it in the place of what was typed. */
  onTheirs(theirs: Item): void;
}

/** Somebody else changed what was about to be changed, and one of the two has to be chosen. */
export interface Conflict {
  theirs: Meta;
  found: readonly Difference[];
  /** Parts of which nothing of theirs would be left. */
  replaced: readonly string[];
  /** Whether one's own change takes it away. */
  isRemoval: boolean;
  keep(): void;
  take(): void;
  /** Decides nothing: what was typed stays in the form. */
  leave(): void;
}

export interface Saving {
  isBusy: boolean;
  failure: Failure | null;
  conflict: Conflict | null;
  save<Item extends Meta>(wanted: Wanted<Item>): Promise<void>;
}

type Outcome<Item> = { kind: 'saved'; saved: unknown } | { kind: 'failed'; failure: Failure } | Changed<Item>;
interface Changed<Item> {
  kind: 'changed';
  theirs: Item;
  found: Difference[];
}

/** Others may change it again and again; somebody who changes it as often is a program. */
const TRIES_MAX = 5;

/**
 * Makes a change by If-Match. Where somebody else changed nothing that it is about, it is made to what is there now; else
 * whoever wants it has to choose.
 */
export function useSaving(): Saving {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const make = async <Item extends Meta>(wanted: Wanted<Item>, base: Item): Promise<void> => {
    setBusy(true);
    const outcome = await tried(wanted, base);
    setBusy(false);
    setFailure(outcome.kind === 'failed' ? outcome.failure : null);
    setConflict(outcome.kind === 'changed' ? conflictOf(wanted, outcome) : null);
    if (outcome.kind === 'saved') wanted.onSaved(outcome.saved);
  };
  const conflictOf = <Item extends Meta>(wanted: Wanted<Item>, { theirs, found }: Changed<Item>): Conflict => ({
    theirs,
    found,
    replaced: wanted.replaced?.(theirs) ?? [],
    isRemoval: wanted.kept(theirs) === null,
    keep: () => void make(wanted, theirs),
    take() {
      setConflict(null);
      wanted.onTheirs(theirs);
    },
    leave: () => setConflict(null),
  });
  return {
    isBusy,
    failure,
    conflict,
    save: async (wanted) => {
      if (!isBusy) await make(wanted, wanted.loaded);
    },
  };
}

async function tried<Item extends Meta>(wanted: Wanted<Item>, from: Item): Promise<Outcome<Item>> {
  const { loaded, factsOf, kept, read, write, isBlind = false } = wanted;
  let base = from;
  for (let tries = 1; ; tries += 1) {
    const answer = await write(base);
    if (answer.ok) return { kind: 'saved', saved: answer.value };
    if (answer.failure.code !== 'version_conflict') return { kind: 'failed', failure: answer.failure };
    const newest = await read();
    if (!newest.ok) return { kind: 'failed', failure: newest.failure };
    const theirs = newest.value;
    const isAsSeen = isSame(factsOf(theirs), factsOf(base));
    if (!isAsSeen || isBlind) {
      const found = differences(factsOf(loaded), factsOf(theirs), kept(theirs));
      return { kind: 'changed', theirs, found };
    }
    if (tries >= TRIES_MAX) return { kind: 'failed', failure: answer.failure };
    base = theirs;
  }
}
