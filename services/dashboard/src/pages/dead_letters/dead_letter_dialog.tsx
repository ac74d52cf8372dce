import { useState } from 'preact/hooks';
import type { AttemptItem } from '#services/control_api/destinations.ts';
import type {
  DeadLetterDetails,
  DeadLetterItem,
  ResendAnswer,
  ResolveAnswer,
} from '#services/control_api/redelivery.ts';
import { type ApiResult, apiPath, request } from '../../api/request.ts';
import { useGet, useMutation } from '../../api/use_answer.ts';
import { dateTime, number } from '../../format.ts';
import { mayAt, mayEverywhere } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { type Column, codeColumn, DataTable, timeColumn } from '../../ui/data_table.tsx';
import { Confirm, Dialog, toast } from '../../ui/dialog.tsx';
import { ActionForm, problemOf, TextField } from '../../ui/form_fields.tsx';
import { EventLink } from '../../ui/identifiers.tsx';
import { Badge, Facts, FailureNote, Shown } from '../../ui/panel.tsx';
import { ATTEMPT_COLUMNS } from '../destinations/delivery_attempts.tsx';
import { deadLetterCount, isAllSettled, isOpen, portions, resentSentence, stateOf } from './dead_letter_groups.ts';

export function DeadLetterDialog({ id, onChanged, onClose }: { id: string; onChanged(): void; onClose(): void }) {
  const path = apiPath('admin', 'dead-letters', id);
  const asked = useGet<DeadLetterDetails>(path);
  const onDone = (): void => {
    asked.again();
    onChanged();
  };
  return (
    <Dialog title={`Dead letter ${id}`} kind="side" onClose={onClose}>
      <Shown asked={asked} lines={8}>
        {(deadLetter) => (
          <div class="stack">
            <Steps deadLetter={deadLetter} onDone={onDone} />
            <DeadLetterFacts deadLetter={deadLetter} />
            <Contents details={deadLetter} />
            <Attempts attempts={deadLetter.attempts} />
          </div>
        )}
      </Shown>
    </Dialog>
  );
}

function Steps({ deadLetter, onDone }: { deadLetter: DeadLetterItem; onDone(): void }) {
  const action = useMutation();
  const mayChange = mayChangeDeadLetter(deadLetter);
  const ids = [deadLetter.id];
  const send = () =>
    action.run(
      () => inPortions('resend', ids),
      (outcomes: Outcomes) => {
        tellResent(outcomes);
        onDone();
      },
    );
  const reopen = () =>
    action.run(
      () => inPortions('reopen', ids),
      (items) => {
        // Somebody else may have opened it meanwhile.
        const isReopened = items.some(({ outcome }) => outcome === 'reopened');
        toast(isReopened ? 'Dead letter reopened' : 'The dead letter was already open or has expired');
        onDone();
      },
    );
  return (
    <>
      <p class="row">
        <DeadLetterState deadLetter={deadLetter} />
        {mayChange && deadLetter.resendable && deadLetter.resent_at === null && (
          <Button kind="primary" label="Resend" disabled={action.isBusy} onClick={send} />
        )}
        {mayChange && deadLetter.resolved === null && <ResolveDeadLetters ids={ids} label="Resolve" onDone={onDone} />}
        {mayChange && deadLetter.resolved !== null && (
          <Button kind="small" label="Reopen" disabled={action.isBusy} onClick={reopen} />
        )}
      </p>
      {deadLetter.resolved !== null && (
        <div class="note note-good">
          <div>
            <p class="wraps">{deadLetter.resolved.note}</p>
            <p class="muted small">
              {deadLetter.resolved.by}, {dateTime(deadLetter.resolved.at)}
            </p>
          </div>
        </div>
      )}
      <FailureNote failure={action.failure} />
    </>
  );
}

function DeadLetterFacts({ deadLetter }: { deadLetter: DeadLetterItem }) {
  const { stage, destination, reason, detail, topic, partition, offset, index, died_at, cut, resent_at } = deadLetter;
  return (
    <Facts
      facts={[
        ['Stage', destination === null ? stage : `${stage} to ${destination}`],
        deadLetter.site_ids.length > 0 && ['Site', deadLetter.site_ids.join(', ')],
        deadLetter.event !== null && ['Event', <DeadLetterEvent deadLetter={deadLetter} />],
        ['Reason', <code>{reason}</code>],
        detail !== '' && ['Detail', detail],
        ['Failed', dateTime(died_at)],
        resent_at !== null && ['Resent', dateTime(resent_at)],
        [
          'Position',
          <>
            <code>{topic}</code>, partition {partition}, offset {offset}
            {index >= 0 && `, event ${index}`}
          </>,
        ],
        [
          'Size',
          `${number(deadLetter.bytes_total)} bytes${cut ? ', of which only the first 512 KiB were kept: it cannot be resent' : ''}`,
        ],
      ]}
    />
  );
}

export function DeadLetterEvent({ deadLetter: { event, site_ids } }: { deadLetter: DeadLetterItem }) {
  if (event === null) return <>–</>;
  return (
    <EventLink siteId={site_ids[0] ?? ''} eventId={event.event_id}>
      {event.event || event.event_id}
    </EventLink>
  );
}

function Attempts({ attempts }: Pick<DeadLetterDetails, 'attempts'>) {
  if (attempts === null || attempts.length === 0) return null;
  return (
    <section aria-labelledby="letter-attempts">
      <h3 id="letter-attempts">Delivery attempts</h3>
      <DataTable
        caption="Delivery attempts with their responses"
        columns={LETTER_ATTEMPTS}
        rows={attempts}
        keyOf={({ attempt, attempted_at }) => `${attempt} ${attempted_at}`}
        heightPx={240}
      />
    </section>
  );
}

type Content = NonNullable<DeadLetterDetails['contents']>[number];

function Contents({ details }: { details: DeadLetterDetails }) {
  const { contents, sha256 } = details;
  if (contents === null) {
    return (
      <p class="muted">
        Its content cannot be decoded as events. SHA-256 <code class="wraps">{sha256}</code>
      </p>
    );
  }
  return (
    <section aria-labelledby="letter-events">
      <h3 id="letter-events">Events</h3>
      <DataTable
        caption="Events in the dead letter"
        columns={CONTENT_COLUMNS}
        rows={contents}
        keyOf={({ event_id }) => event_id}
        heightPx={360}
      />
    </section>
  );
}

const CONTENT_COLUMNS: readonly Column<Content>[] = [
  { id: 'site', title: 'Site', value: ({ site_id }) => site_id },
  timeColumn('received', 'Received', ({ received_at }) => received_at),
  {
    ...{ id: 'event', title: 'Event', value: ({ event }) => event },
    cell: ({ site_id, event_id, event }) => (
      <EventLink siteId={site_id} eventId={event_id}>
        {event || event_id}
      </EventLink>
    ),
  },
  codeColumn('event_id', 'Event id', ({ event_id }) => event_id),
  { id: 'visitor', title: 'Distinct id', value: ({ distinct_id }) => distinct_id },
];

const LETTER_ATTEMPTS: readonly Column<AttemptItem>[] = [
  ATTEMPT_COLUMNS.when,
  ATTEMPT_COLUMNS.attempt,
  ATTEMPT_COLUMNS.outcome,
  ATTEMPT_COLUMNS.reason,
  ATTEMPT_COLUMNS.answer,
];

export function DeadLetterState({ deadLetter }: { deadLetter: DeadLetterItem }) {
  const kind = !isOpen(deadLetter) ? 'good' : deadLetter.resendable ? 'warn' : 'plain';
  return <Badge kind={kind}>{stateOf(deadLetter)}</Badge>;
}

/** Whether the person may send in or resolve a letter: at each of its sites, or everywhere where these are not known. */
export const mayChangeDeadLetter = ({ site_ids }: DeadLetterItem): boolean =>
  site_ids.length === 0
    ? mayEverywhere('dead_letters.change')
    : site_ids.every((siteId) => mayAt('dead_letters.change', siteId));

type Outcomes = ResendAnswer['items'];
interface AnswerTo {
  resend: ResendAnswer;
  resolve: ResolveAnswer;
  reopen: ResolveAnswer;
}

/** Does something with letters, a portion at a time; what comes before a portion that failed is done. */
async function inPortions<What extends keyof AnswerTo>(
  what: What,
  ids: readonly string[],
  more: { note?: string } = {},
): Promise<ApiResult<AnswerTo[What]['items'][number][]>> {
  const items: AnswerTo[What]['items'][number][] = [];
  for (const portion of portions(ids)) {
    const body = { ids: portion, ...more };
    const answer = await request<AnswerTo[What]>('POST', `/v1/admin/dead-letters/${what}`, { body });
    if (!answer.ok) return answer;
    items.push(...answer.value.items);
  }
  return { ok: true, value: items, version: null };
}

function tellResent(outcomes: Outcomes): void {
  toast(resentSentence(outcomes), isAllSettled(outcomes) ? 'good' : 'bad');
}

export function ResendAll({ deadLetters, onDone }: { deadLetters: readonly DeadLetterItem[]; onDone(): void }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const action = useMutation();
  if (deadLetters.length === 0) return null;
  // What died since was not looked at.
  const left = deadLetters.flatMap(({ id }) => (chosen.has(id) ? [id] : []));
  const close = (): void => setChosen(new Set());
  const send = async (): Promise<void> => {
    const outcomes = await action.run(() => inPortions('resend', left));
    if (outcomes !== null) {
      close();
      tellResent(outcomes);
    }
    // Those before a portion that failed are sent: the list says which are left.
    onDone();
  };
  return (
    <>
      <Button
        kind="small"
        label={`Resend all (${number(deadLetters.length)})`}
        onClick={() => setChosen(new Set(deadLetters.map(({ id }) => id)))}
      />
      {left.length > 0 && (
        <Confirm
          title={`Resend ${deadLetterCount(left.length)}?`}
          isDangerous={false}
          action={action.isBusy ? 'Resending' : 'Resend'}
          isBusy={action.isBusy}
          onConfirm={send}
          onClose={close}
        >
          <p>
            Each is resent once, however often you ask. If the cause remains, it fails again as a new dead letter.
            Events that were already counted are not counted twice, and what a destination already has is not sent to
            it.
          </p>
          <FailureNote failure={action.failure} />
        </Confirm>
      )}
    </>
  );
}

interface ResolveDeadLettersProps {
  ids: readonly string[];
  label: string;
  onDone(): void;
}

/** A button that asks why nothing more is to be done about letters that the person may change, and notes it with who said so. */
export function ResolveDeadLetters({ ids, label, onDone }: ResolveDeadLettersProps) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [note, setNote] = useState('');
  if (ids.length === 0) return null;
  // What died since was not looked at, and what is resolved by now needs nothing.
  const left = chosen.filter((id) => ids.includes(id));
  const close = (): void => {
    setChosen([]);
    // What was said of these letters is not said of the next.
    setNote('');
  };
  const resolve = async () => {
    const answer = await inPortions('resolve', left, { note: note.trim() });
    // Those before a portion that failed are resolved: the list says which are left.
    if (!answer.ok) onDone();
    return answer;
  };
  return (
    <>
      <Button kind="small" label={label} onClick={() => setChosen(ids)} />
      {left.length > 0 && (
        <Dialog title={`Resolve ${deadLetterCount(left.length)}`} isChanged={note.trim() !== ''} onClose={close}>
          <ActionForm
            action="Resolve"
            isReady={note.trim() !== ''}
            run={resolve}
            onDone={(items) => {
              close();
              toast(`${deadLetterCount(items.filter(({ outcome }) => outcome === 'resolved').length)} resolved`);
              onDone();
            }}
            onClose={close}
          >
            {(failure) => (
              <>
                <p>It is kept, but no longer counts as open. It can be reopened.</p>
                <TextField
                  label="Resolution note"
                  required
                  lines={3}
                  hint="Visible to others. Up to 500 characters; no e-mail addresses or phone numbers."
                  problem={problemOf(failure, 'note')}
                  value={note}
                  onValue={setNote}
                />
              </>
            )}
          </ActionForm>
        </Dialog>
      )}
    </>
  );
}
