import type { VNode } from 'preact';
import type { Meta } from '#services/control_api/fields.ts';
import { dateTime } from '../format.ts';
import { Dialog } from '../ui/dialog.tsx';
import { who } from '../who.ts';
import { type Difference, factText } from './differences.ts';
import type { Conflict, Saving } from './use_saving.ts';

interface ConflictProps {
  saving: Pick<Saving, 'conflict' | 'isBusy'>;
  /** What it is: "the key". */
  what: string;
  /** What people call the fields; those that have no name here are called as in the API. */
  names?: Readonly<Record<string, string>>;
  textOf?(value: unknown, name: string): string;
}

/** Lets somebody choose between what they want and what somebody else has made of it meanwhile; nothing where there is no conflict. */
export function ConflictDialog({ saving: { conflict, isBusy }, ...rest }: ConflictProps): VNode | null {
  return conflict === null ? null : <Choice conflict={conflict} isBusy={isBusy} {...rest} />;
}

type ChoiceProps = Omit<ConflictProps, 'saving'> & { conflict: Conflict; isBusy: boolean };

function Choice({ conflict, isBusy, what, names = {}, textOf = factText }: ChoiceProps): VNode {
  const { theirs, found, replaced, isRemoval, keep, take, leave } = conflict;
  return (
    <Dialog title="Somebody changed it meanwhile" onClose={leave}>
      <div class="stack">
        <p>
          {actorText(theirs)} changed {what} on {dateTime(theirs.changed_at)}, after you opened it.{' '}
          {isRemoval ? 'It is not removed yet.' : 'What you changed is not saved yet.'}
        </p>
        {found.length === 0 ? (
          <p>Nothing that can be shown differs; a secret may have been replaced.</p>
        ) : (
          <FoundTable found={found} isRemoval={isRemoval} names={names} textOf={textOf} />
        )}
        <p class="muted">
          {isRemoval
            ? 'Keep mine removes it all the same. Take theirs leaves it as it is now.'
            : 'Keep mine saves what you changed over it; what you left alone stays as theirs. Take theirs drops what you changed.'}
        </p>
        {replaced.length > 0 && (
          <p>
            Both of you changed {replaced.join(', ')} in ways that cannot be put together: Keep mine replaces all of it
            by yours.
          </p>
        )}
        <div class="actions">
          <button type="button" class="button" onClick={leave}>
            Decide later
          </button>
          <button type="button" class="button" disabled={isBusy} onClick={take}>
            Take theirs
          </button>
          <button type="button" class="button primary" disabled={isBusy} onClick={keep}>
            Keep mine
          </button>
        </div>
      </div>
    </Dialog>
  );
}

interface FoundTableProps extends Required<Pick<ChoiceProps, 'names' | 'textOf'>> {
  found: readonly Difference[];
  isRemoval: boolean;
}

function FoundTable({ found, isRemoval, names, textOf }: FoundTableProps): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section class="table-scroll conflict" aria-label="What they changed" tabIndex={0}>
      <table>
        <caption class="hidden">What they changed</caption>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">When you opened it</th>
            <th scope="col">Theirs</th>
            {!isRemoval && <th scope="col">If you keep yours</th>}
          </tr>
        </thead>
        <tbody>
          {found.map(({ name, was, theirs, kept }) => (
            <tr key={name}>
              <th scope="row">{names[name] ?? fieldWords(name)}</th>
              <td>{textOf(was, name)}</td>
              <td>{textOf(theirs, name)}</td>
              {!isRemoval && <td>{textOf(kept, name)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** `business_category` is read as Business category. */
function fieldWords(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const USER = 'user:';

/** Who made the last change, as people know them: users by their ids, programs by the labels of their tokens. */
function actorText({ changed_by: actor }: Meta): string {
  if (!actor.startsWith(USER)) return actor;
  const id = actor.slice(USER.length);
  return id === who.value?.id ? 'You yourself, elsewhere,' : id;
}
