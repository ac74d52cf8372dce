import type { VNode } from 'preact';
import type { AttemptItem } from '#services/control_api/destinations.ts';
import type { LetterDetails, LetterItem } from '#services/control_api/redelivery.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime, number } from '../../format.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EventLink } from '../../ui/event_link.tsx';
import { FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { ATTEMPT_COLUMNS } from '../destinations/attempt_columns.tsx';
import { LetterState, mayChangeLetter } from './letter_state.tsx';
import { resend, tellResent } from './resend_all.tsx';
import { markLetters, ResolveLetters } from './resolve_letters.tsx';

interface LetterDialogProps {
  id: string;
  onChanged(): void;
  onClose(): void;
}

/** One dead letter: why it died, whose events it holds, and what is done about it. */
export function LetterDialog({ id, onChanged, onClose }: LetterDialogProps): VNode {
  const path = `/v1/admin/dead-letters/${encodeURIComponent(id)}`;
  const asked = useAnswer(id, (signal) => request<LetterDetails>('GET', path, { signal }));
  const onDone = (): void => {
    asked.again();
    onChanged();
  };
  return (
    <Dialog title={`Dead letter ${id}`} kind="side" onClose={onClose}>
      <Shown asked={asked} lines={8}>
        {(letter) => (
          <div class="stack">
            <Steps letter={letter} onDone={onDone} />
            <Facts letter={letter} />
            <Contents details={letter} />
            <Attempts attempts={letter.attempts} />
          </div>
        )}
      </Shown>
    </Dialog>
  );
}

/** What was done about the letter, and what can be. */
function Steps({ letter, onDone }: { letter: LetterItem; onDone(): void }): VNode {
  const action = useAction();
  const mayChange = mayChangeLetter(letter);
  const send = async (): Promise<void> => {
    const outcomes = await action.run(() => resend([letter.id]));
    if (outcomes === null) return;
    tellResent(outcomes);
    onDone();
  };
  const reopen = async (): Promise<void> => {
    const items = await action.run(() => markLetters('reopen', [letter.id]));
    if (items === null) return;
    // Somebody else may have opened it meanwhile.
    const isReopened = items.some(({ outcome }) => outcome === 'reopened');
    toast(isReopened ? 'The letter is open again' : 'The letter was open already, or is kept no more');
    onDone();
  };
  return (
    <>
      <p class="row">
        <LetterState letter={letter} />
        {mayChange && letter.resendable && letter.resent_at === null && (
          <button type="button" class="button primary" disabled={action.isBusy} onClick={() => void send()}>
            Send in again
          </button>
        )}
        {mayChange && letter.resolved === null && <ResolveLetters ids={[letter.id]} label="Resolve" onDone={onDone} />}
        {mayChange && letter.resolved !== null && (
          <button type="button" class="button small" disabled={action.isBusy} onClick={() => void reopen()}>
            Open it again
          </button>
        )}
      </p>
      {letter.resolved !== null && (
        <div class="note note-good">
          <div>
            <p class="wraps">{letter.resolved.note}</p>
            <p class="muted small">
              {letter.resolved.by}, {dateTime(letter.resolved.at)}
            </p>
          </div>
        </div>
      )}
      {action.failure !== null && <FailureNote failure={action.failure} />}
    </>
  );
}

function Facts({ letter }: { letter: LetterItem }): VNode {
  const { stage, destination, reason, detail, topic, partition, offset, index, died_at, bytes_total, cut, resent_at } =
    letter;
  return (
    <dl class="facts">
      <dt>Stage</dt>
      <dd>{destination === null ? stage : `${stage} to ${destination}`}</dd>
      {letter.site_ids.length > 0 && (
        <>
          <dt>Site</dt>
          <dd>{letter.site_ids.join(', ')}</dd>
        </>
      )}
      {letter.event !== null && (
        <>
          <dt>Event</dt>
          <dd>
            <EventLink siteId={letter.site_ids[0] ?? ''} eventId={letter.event.event_id}>
              {letter.event.event || letter.event.event_id}
            </EventLink>
          </dd>
        </>
      )}
      <dt>Reason</dt>
      <dd>
        <code>{reason}</code>
      </dd>
      {detail !== '' && (
        <>
          <dt>Detail</dt>
          <dd>{detail}</dd>
        </>
      )}
      <dt>Died</dt>
      <dd>{dateTime(died_at)}</dd>
      {resent_at !== null && (
        <>
          <dt>Sent in again</dt>
          <dd>{dateTime(resent_at)}</dd>
        </>
      )}
      <dt>Stands in</dt>
      <dd>
        <code>{topic}</code>, partition {partition}, offset {offset}
        {index >= 0 && `, event ${index}`}
      </dd>
      <dt>Size</dt>
      <dd>
        {number(bytes_total)} bytes{cut && ', of which only the first 512 KiB are kept: it cannot be sent in again'}
      </dd>
    </dl>
  );
}

/** The attempts at the destination with what its platform answered. */
function Attempts({ attempts }: Pick<LetterDetails, 'attempts'>): VNode | null {
  if (attempts === null || attempts.length === 0) return null;
  return (
    <section aria-labelledby="letter-attempts">
      <h3 id="letter-attempts">Attempts at the destination</h3>
      <DataTable
        caption="Each attempt with its answer"
        columns={LETTER_ATTEMPTS}
        rows={attempts}
        keyOf={({ attempt, attempted_at }) => `${attempt} ${attempted_at}`}
        heightPx={240}
      />
    </section>
  );
}

type Content = NonNullable<LetterDetails['contents']>[number];

function Contents({ details }: { details: LetterDetails }): VNode {
  const { contents, sha256 } = details;
  if (contents === null) {
    return (
      <p class="muted">
        What it holds cannot be read as events. SHA-256 <code class="wraps">{sha256}</code>
      </p>
    );
  }
  return (
    <section aria-labelledby="letter-events">
      <h3 id="letter-events">Events in it</h3>
      <DataTable
        caption="Events in the letter"
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
  {
    id: 'received',
    title: 'Received',
    value: ({ received_at }) => received_at,
    cell: ({ received_at }) => dateTime(received_at),
  },
  {
    id: 'event',
    title: 'Event',
    value: ({ event }) => event,
    cell: ({ site_id, event_id, event }) => (
      <EventLink siteId={site_id} eventId={event_id}>
        {event || event_id}
      </EventLink>
    ),
  },
  {
    id: 'event_id',
    title: 'Event id',
    value: ({ event_id }) => event_id,
    cell: ({ event_id }) => <code>{event_id}</code>,
  },
  { id: 'visitor', title: 'Distinct id', value: ({ distinct_id }) => distinct_id },
];

const LETTER_ATTEMPTS: readonly Column<AttemptItem>[] = [
  ATTEMPT_COLUMNS.when,
  ATTEMPT_COLUMNS.attempt,
  ATTEMPT_COLUMNS.outcome,
  ATTEMPT_COLUMNS.reason,
  ATTEMPT_COLUMNS.answer,
];
