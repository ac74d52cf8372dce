import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Meta } from '#services/control_api/fields.ts';
import type { ApiError, ApiResult } from '../api/request.ts';
import { capital, dateTime, isSame } from '../format.ts';
import { currentUser } from '../session.ts';
import { Button, type ButtonKind } from '../ui/button.tsx';
import { Confirm, Dialog, toast } from '../ui/dialog.tsx';
import { submitHandler } from '../ui/form_fields.tsx';
import { FailureNote } from '../ui/panel.tsx';
import { changesOver, type Difference, differences, type Facts, factText } from './differences.ts';

interface EditingOf<Item extends Meta, Draft extends object> {
  item: Item;
  draftOf(item: Item): Draft;
  read(): Promise<ApiResult<Item>>;
  /** Sends a form that was filled with an item, if that is still the newest; answers the item as it is then. */
  write(draft: Draft, base: Item): Promise<ApiResult<Item>>;
  /** What of a form is compared, field by field; left out: its fields. */
  factsOf?(draft: Draft): Facts;
  /** One's own changes over theirs; left out: field by field. */
  merge?(loaded: Draft, mine: Draft, theirs: Draft): Draft;
  /** Parts that both changed and that mine would replace as a whole. */
  replaced?(loaded: Draft, mine: Draft, theirs: Draft): readonly string[];
  /** Whether a form may replace what cannot be compared, such as a secret. */
  isBlind?(draft: Draft): boolean;
  said?: string;
  onSaved?(saved: Item): void;
  /** The page is to be read again: it was saved, or theirs was taken. */
  onDone(): void;
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
export function useEditForm<Item extends Meta, Draft extends object>({
  item,
  draftOf,
  factsOf = (one) => ({ ...one }) as Facts,
  merge = changesOver,
  replaced = () => [],
  isBlind = () => false,
  read,
  write,
  said,
  onSaved,
  onDone,
}: EditingOf<Item, Draft>): Editing<Draft> {
  const [loaded, setLoaded] = useState(item);
  const [draft, setDraft] = useState(() => draftOf(item));
  const saving = useSave();
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
          if (said !== undefined) toast(said);
          onSaved?.(stored);
        },
        onTheirs: fill,
        onDone,
      });
    },
  };
}

/** A change of something that others may change as well. */
interface Wanted<Item extends Meta> {
  /** As it was when somebody decided on the change. */
  loaded: Item;
  factsOf(item: Item): Facts;
  /** What is so after the change, made to it as it is here; null: it is gone. */
  kept(base: Item): Facts | null;
  /** Parts that somebody else changed as well, and that the change would replace as a whole. */
  replaced?(base: Item): readonly string[];
  read(): Promise<ApiResult<Item>>;
  write(base: Item): Promise<ApiResult<unknown>>;
  /** Whether it may replace what cannot be compared: somebody else may have changed a secret. */
  isBlind?: boolean;
  onSaved?(saved: unknown): void;
  /** Shows what somebody else has made of it in the place of what was typed. */
  onTheirs?(theirs: Item): void;
  /** It was saved, or theirs was taken. */
  onDone(): void;
}

/** Somebody else changed what was about to be changed, and one of the two has to be chosen. */
interface Conflict {
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
  failure: ApiError | null;
  conflict: Conflict | null;
  save<Item extends Meta>(wanted: Wanted<Item>): Promise<void>;
}

type Outcome<Item> = { kind: 'saved'; saved: unknown } | { kind: 'failed'; failure: ApiError } | Changed<Item>;
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
export function useSave(): Saving {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const make = async <Item extends Meta>(wanted: Wanted<Item>, base: Item): Promise<void> => {
    setBusy(true);
    const outcome = await tried(wanted, base);
    setBusy(false);
    setFailure(outcome.kind === 'failed' ? outcome.failure : null);
    setConflict(outcome.kind === 'changed' ? conflictOf(wanted, outcome) : null);
    if (outcome.kind !== 'saved') return;
    wanted.onSaved?.(outcome.saved);
    wanted.onDone();
  };
  const conflictOf = <Item extends Meta>(wanted: Wanted<Item>, { theirs, found }: Changed<Item>): Conflict => ({
    theirs,
    found,
    replaced: wanted.replaced?.(theirs) ?? [],
    isRemoval: wanted.kept(theirs) === null,
    keep: () => void make(wanted, theirs),
    take() {
      setConflict(null);
      wanted.onTheirs?.(theirs);
      wanted.onDone();
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

interface ConflictProps {
  saving: Pick<Saving, 'conflict' | 'isBusy'>;
  /** What it is: "the key". */
  what: string;
  /** What people call the fields; those that have no name here are called as in the API. */
  names?: Readonly<Record<string, string>>;
  textOf?(value: unknown, name: string): string;
}

/**
 * Lets somebody choose between what they want and what somebody else has made of it meanwhile; nothing where there is no
 * conflict.
 */
export const ConflictDialog = ({ saving: { conflict, isBusy }, ...rest }: ConflictProps) =>
  conflict === null ? null : <Choice conflict={conflict} isBusy={isBusy} {...rest} />;

type ChoiceProps = Omit<ConflictProps, 'saving'> & { conflict: Conflict; isBusy: boolean };

function Choice({ conflict, isBusy, what, names = {}, textOf = factText }: ChoiceProps) {
  const { theirs, found, replaced, isRemoval, keep, take, leave } = conflict;
  return (
    <Dialog title="Changed by someone else" onClose={leave}>
      <div class="stack">
        <p>
          {actorText(theirs)} changed {what} on {dateTime(theirs.changed_at)}, after you opened it.{' '}
          {isRemoval ? 'It has not been removed.' : 'Your changes have not been saved.'}
        </p>
        {found.length === 0 ? (
          <p>No visible differences; a secret may have been replaced.</p>
        ) : (
          <FoundTable found={found} isRemoval={isRemoval} names={names} textOf={textOf} />
        )}
        <p class="muted">
          {isRemoval
            ? 'Remove anyway discards their changes. Discard my changes leaves it as it is now.'
            : 'Overwrite saves the fields that you changed and keeps the rest of theirs.'}
        </p>
        {replaced.length > 0 && (
          <p>
            Both of you changed {replaced.join(', ')} in ways that cannot be merged: Overwrite replaces all of it with
            yours.
          </p>
        )}
        <div class="actions">
          <Button label="Cancel" onClick={leave} />
          <Button label="Discard my changes" disabled={isBusy} onClick={take} />
          <Button kind="primary" label={isRemoval ? 'Remove anyway' : 'Overwrite'} disabled={isBusy} onClick={keep} />
        </div>
      </div>
    </Dialog>
  );
}

interface FoundTableProps extends Required<Pick<ChoiceProps, 'names' | 'textOf'>> {
  found: readonly Difference[];
  isRemoval: boolean;
}

const FoundTable = ({ found, isRemoval, names, textOf }: FoundTableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
  <section class="table-scroll conflict" aria-label="Their changes" tabIndex={0}>
    <table>
      <caption class="hidden">Their changes</caption>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">When you opened it</th>
          <th scope="col">Theirs</th>
          {!isRemoval && <th scope="col">If you overwrite</th>}
        </tr>
      </thead>
      <tbody>
        {found.map(({ name, was, theirs, kept }) => (
          <tr key={name}>
            <th scope="row">{names[name] ?? capital(name.replaceAll('_', ' '))}</th>
            <td>{textOf(was, name)}</td>
            <td>{textOf(theirs, name)}</td>
            {!isRemoval && <td>{textOf(kept, name)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

const USER = 'user:';

/** Who made the last change, as people know them: users by their ids, programs by the labels of their tokens. */
function actorText({ changed_by: actor }: Meta): string {
  if (!actor.startsWith(USER)) return actor;
  const id = actor.slice(USER.length);
  return id === currentUser.value?.id ? 'You, in another session,' : id;
}

interface EditFormProps extends Omit<ConflictProps, 'saving'> {
  form: Pick<Editing<object>, 'isBusy' | 'failure' | 'conflict' | 'isChanged' | 'save'>;
  class?: string;
  kind?: ButtonKind;
  mayChange?: boolean;
  mayBeUnchanged?: boolean;
  more?: ComponentChildren;
  children: ComponentChildren;
}

/** The fields of something that others may change as well, and the button that saves them. */
export function EditForm({
  form,
  class: looks = 'stack',
  kind = 'primary',
  mayChange = true,
  mayBeUnchanged = false,
  more,
  children,
  ...conflict
}: EditFormProps) {
  const disabled = form.isBusy || !(form.isChanged || mayBeUnchanged);
  return (
    <form class={looks} onSubmit={submitHandler(() => form.save())}>
      <fieldset class="stack" disabled={!mayChange}>
        {children}
      </fieldset>
      <FailureNote failure={form.failure} />
      {mayChange && (
        <div class={more === undefined ? 'actions' : 'actions spread'}>
          {more}
          <Button type="submit" kind={kind} label="Save" disabled={disabled} />
        </div>
      )}
      <ConflictDialog saving={form} {...conflict} />
    </form>
  );
}

interface RemoveButtonProps<Item extends Meta> {
  item: Item;
  name: string;
  what: string;
  names?: Readonly<Record<string, string>>;
  factsOf(item: Item): Facts;
  read(): Promise<ApiResult<Item>>;
  remove(base: Item): Promise<ApiResult<unknown>>;
  onRemoved(): void;
  onTheirs(): void;
  children: ComponentChildren;
}

/** Removes something after asking, and asks again where somebody else has changed it meanwhile. */
export function RemoveButton<Item extends Meta>(props: RemoveButtonProps<Item>) {
  const { item, name, what, names = {}, factsOf, read, remove, onRemoved, onTheirs, children } = props;
  const [asks, setAsks] = useState(false);
  const saving = useSave();
  const removed = (): Promise<void> =>
    saving.save<Item>({
      loaded: item,
      factsOf,
      kept: () => null,
      read,
      write: remove,
      onSaved() {
        toast(`${name} was removed`);
        onRemoved();
      },
      onTheirs,
      onDone: () => setAsks(false),
    });
  return (
    <>
      <Button kind="danger" label="Remove" onClick={() => setAsks(true)} />
      {asks && (
        <Confirm
          title={`Remove ${name}?`}
          action="Remove"
          isBusy={saving.isBusy}
          onConfirm={removed}
          onClose={() => setAsks(false)}
        >
          <p>{children}</p>
          <FailureNote failure={saving.failure} />
        </Confirm>
      )}
      <ConflictDialog saving={saving} what={what} names={names} />
    </>
  );
}
