import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { LetterItem, ResendAnswer } from '#services/control_api/dead_letter_shapes.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { number } from '../../format.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { portions } from './letter_groups.ts';

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

/** What became of letters, in a sentence. */
export function resentSentence(outcomes: Outcomes): string {
  const count = (wanted: string): number => outcomes.filter(({ outcome }) => outcome === wanted).length;
  const sent = count('resent');
  const told = REASONS.map(({ outcome, text }) => ({ found: count(outcome), text }));
  const others = outcomes.length - sent - told.reduce((sum, { found }) => sum + found, 0);
  return [
    `${number(sent)} ${sent === 1 ? 'letter was' : 'letters were'} sent in again`,
    ...told.filter(({ found }) => found > 0).map(({ found, text }) => `${number(found)} ${text}`),
    ...(others > 0 ? [`${number(others)} could not be`] : []),
  ].join(', ');
}

const REASONS: readonly { outcome: Outcomes[number]['outcome']; text: string }[] = [
  { outcome: 'resent_before', text: 'had been before' },
  { outcome: 'delivered', text: 'not, as the destination has them by now' },
  { outcome: 'waiting', text: 'not, as they are tried again by themselves' },
  { outcome: 'no_destination', text: 'not, as the destination is switched off or gone' },
  { outcome: 'replay_runs', text: 'not yet, as a replay to the destination is not over' },
  { outcome: 'not_known', text: 'not yet, as it is not known whether the destination has them: try again in a moment' },
];

/** Sends in again letters that can be, after asking. */
export function ResendAll({ letters, onDone }: { letters: readonly LetterItem[]; onDone(): void }): VNode | null {
  const [asks, setAsks] = useState(false);
  const action = useAction();
  if (letters.length === 0) return null;
  const send = async (): Promise<void> => {
    const outcomes = await action.run(() => resend(letters.map(({ id }) => id)));
    if (outcomes === null) return;
    setAsks(false);
    toast(resentSentence(outcomes));
    onDone();
  };
  return (
    <>
      <button type="button" class="button small" onClick={() => setAsks(true)}>
        Send all in again ({number(letters.length)})
      </button>
      {asks && (
        <Confirm
          title={`Send ${number(letters.length)} ${letters.length === 1 ? 'letter' : 'letters'} in again?`}
          action={action.isBusy ? 'Sending' : 'Send in again'}
          isBusy={action.isBusy}
          onConfirm={() => void send()}
          onClose={() => setAsks(false)}
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
