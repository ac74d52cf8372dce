import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ResolveAnswer } from '#services/control_api/redelivery.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { number } from '../../format.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { portions } from './letter_groups.ts';

/** Says of letters that somebody is done with them, or that they are open again, a portion at a time. */
export async function markLetters(
  what: 'resolve' | 'reopen',
  ids: readonly string[],
  more: { note?: string } = {},
): Promise<Answer<ResolveAnswer['items']>> {
  const items: ResolveAnswer['items'] = [];
  for (const portion of portions(ids)) {
    const body = { ids: portion, ...more };
    const answer = await request<ResolveAnswer>('POST', `/v1/admin/dead-letters/${what}`, { body });
    if (!answer.ok) return answer;
    items.push(...answer.value.items);
  }
  return { ok: true, value: items, version: null };
}

interface ResolveLettersProps {
  ids: readonly string[];
  /** What the button says. */
  label: string;
  onDone(): void;
}

/** A button that asks why nothing more is to be done about letters that the person may change, and notes it with who said so. */
export function ResolveLetters({ ids, label, onDone }: ResolveLettersProps): VNode | null {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [note, setNote] = useState('');
  const action = useAction();
  if (ids.length === 0) return null;
  // What died since was not looked at, and what is resolved by now needs nothing.
  const left = chosen.filter((id) => ids.includes(id));
  const close = (): void => {
    setChosen([]);
    // What was said of these letters is not said of the next.
    setNote('');
    action.clear();
  };
  const resolve = async (event: Event): Promise<void> => {
    event.preventDefault();
    const items = await action.run(() => markLetters('resolve', left, { note: note.trim() }));
    // Those before a portion that failed are resolved: the list says which are left.
    if (items === null) return onDone();
    close();
    const done = items.filter(({ outcome }) => outcome === 'resolved').length;
    toast(`${number(done)} ${done === 1 ? 'letter is' : 'letters are'} resolved`);
    onDone();
  };
  return (
    <>
      <button type="button" class="button small" onClick={() => setChosen(ids)}>
        {label}
      </button>
      {left.length > 0 && (
        <Dialog
          title={left.length === 1 ? 'Resolve the letter' : `Resolve ${number(left.length)} letters`}
          isChanged={note.trim() !== ''}
          onClose={close}
        >
          <form class="stack" onSubmit={(event) => void resolve(event)}>
            <p>It stays where it is, and counts as open no more. It can be opened again.</p>
            <TextField
              label="Why nothing more is to be done"
              required
              lines={3}
              hint="Others read it: up to 500 characters, without addresses and numbers of people."
              problem={problemOf(action.failure, 'note')}
              value={note}
              onValue={setNote}
            />
            {action.failure !== null && <FailureNote failure={action.failure} />}
            <FormActions action="Resolve" disabled={action.isBusy || note.trim() === ''} onClose={close} />
          </form>
        </Dialog>
      )}
    </>
  );
}
