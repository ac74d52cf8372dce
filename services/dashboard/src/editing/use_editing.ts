import { useEffect, useState } from 'preact/hooks';
import type { Meta } from '#services/control_api/fields.ts';
import type { Answer } from '../api/api_answer.ts';
import { changesOver, type Facts, isSame } from './differences.ts';
import { type Saving, useSaving } from './use_saving.ts';

interface EditingOf<Item extends Meta, Draft extends object> {
  /** As the page has it now. */
  item: Item;
  draftOf(item: Item): Draft;
  /** As it is now in the service. */
  read(): Promise<Answer<Item>>;
  /** Sends a form that was filled with an item, if that is still the newest; answers the item as it is then. */
  write(draft: Draft, base: Item): Promise<Answer<Item>>;
  /** What of a form is compared, field by field; left out: its fields. */
  factsOf?(draft: Draft): Facts;
  /** One's own changes over theirs; left out: field by field. */
  merge?(loaded: Draft, mine: Draft, theirs: Draft): Draft;
  /** Parts that both changed and that mine would replace as a whole. */
  replaced?(loaded: Draft, mine: Draft, theirs: Draft): readonly string[];
  /** Whether a form may replace what cannot be compared, such as a secret. */
  isBlind?(draft: Draft): boolean;
  onSaved(saved: Item): void;
  /** The page is to be read again. */
  onTheirs(): void;
}

/** A form over something that others may change as well. */
export interface Editing<Draft> extends Omit<Saving, 'save'> {
  draft: Draft;
  edit(fields: Partial<Draft>): void;
  isChanged: boolean;
  /** @param more What is saved beside what was typed, and is no part of the form where it comes to nothing. */
  save(more?: Partial<Draft>): Promise<void>;
}

/**
 * What a form holds. It goes on from what it was filled with: where the page is read again, a form takes that over as long
 * as nothing was typed in it, or none of its own fields is different. Else saving it finds that somebody changed it.
 */
export function useEditing<Item extends Meta, Draft extends object>({
  item,
  draftOf,
  factsOf = (one) => ({ ...one }) as Facts,
  merge = changesOver,
  replaced = () => [],
  isBlind = () => false,
  read,
  write,
  onSaved,
  onTheirs,
}: EditingOf<Item, Draft>): Editing<Draft> {
  const [loaded, setLoaded] = useState(item);
  const [draft, setDraft] = useState(() => draftOf(item));
  const saving = useSaving();
  const before = draftOf(loaded);
  const isChanged = !isSame(draft, before);
  const fill = (filled: Item): void => {
    setLoaded(filled);
    setDraft(draftOf(filled));
  };
  useEffect(() => {
    if (item.version === loaded.version) return;
    if (!isChanged) fill(item);
    else if (isSame(draftOf(item), before)) setLoaded(item);
  }, [item.version]);
  return {
    ...saving,
    draft,
    isChanged,
    edit: (fields) => setDraft((now) => ({ ...now, ...fields })),
    save(more = {}) {
      const wanted = { ...draft, ...more };
      const over = (base: Item): Draft => merge(before, wanted, draftOf(base));
      return saving.save<Item>({
        loaded,
        factsOf: (one) => factsOf(draftOf(one)),
        kept: (base) => factsOf(over(base)),
        replaced: (base) => replaced(before, wanted, draftOf(base)),
        isBlind: isBlind(wanted),
        read,
        write: (base) => write(over(base), base),
        onSaved(saved) {
          const stored = saved as Item;
          setLoaded(stored);
          // What was typed while it was under way is not lost.
          setDraft((now) => (isSame(now, draft) ? draftOf(stored) : now));
          onSaved(stored);
        },
        onTheirs(theirs) {
          fill(theirs);
          onTheirs();
        },
      });
    },
  };
}
