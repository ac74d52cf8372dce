import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { LetterItem, ResendAnswer } from '#services/control_api/redelivery.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { number } from '../../format.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { portions } from './letter_groups.ts';
import { isAllSettled, resentSentence } from './letter_text.ts';

type Outcomes = ResendAnswer['items'];

/** Sends letters in again, a portion at a time; those before a portion that failed are sent. */
export async function resend(ids: readonly string[]): Promise<Answer<Outcomes>> {
  const outcomes: Outcomes = [];
  for (const portion of portions(ids)) {
    const answer = await request<ResendAnswer>('POST', '/v1/admin/dead-letters/resend', { body: { ids: portion } });
    if (!answer.ok) return answer;
    outcomes.push(...answer.value.items);
  }
  return { ok: true, value: outcomes, version: null };
}

/** Tells what became of letters. */
export function tellResent(outcomes: Outcomes): void {
  toast(resentSentence(outcomes), isAllSettled(outcomes) ? 'good' : 'bad');
}

/** Sends in again letters that can be, after asking. */
export function ResendAll({ letters, onDone }: { letters: readonly LetterItem[]; onDone(): void }): VNode | null {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const action = useAction();
  if (letters.length === 0) return null;
  // What died since was not looked at.
  const left = letters.flatMap(({ id }) => (chosen.has(id) ? [id] : []));
  const close = (): void => setChosen(new Set());
  const send = async (): Promise<void> => {
    const outcomes = await action.run(() => resend(left));
    // Those before a portion that failed are sent: the list says which are left.
    if (outcomes === null) return onDone();
    close();
    tellResent(outcomes);
    onDone();
  };
  return (
    <>
      <button type="button" class="button small" onClick={() => setChosen(new Set(letters.map(({ id }) => id)))}>
        Send all in again ({number(letters.length)})
      </button>
      {left.length > 0 && (
        <Confirm
          title={`Send ${number(left.length)} ${left.length === 1 ? 'letter' : 'letters'} in again?`}
          action={action.isBusy ? 'Sending' : 'Send in again'}
          isBusy={action.isBusy}
          onConfirm={() => void send()}
          onClose={close}
        >
          <p>
            Each goes in once, however often this is asked. Where the cause is not gone it dies again, as a letter of
            its own. Events that were counted before are not counted twice, and what a destination has by now is not
            sent to it.
          </p>
          {action.failure !== null && <FailureNote failure={action.failure} />}
        </Confirm>
      )}
    </>
  );
}
