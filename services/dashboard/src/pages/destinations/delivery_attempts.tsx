import { useState } from 'preact/hooks';
import type { AttemptItem, TestAnswer } from '#services/control_api/destinations.ts';
import { request, sitePath } from '../../api/request.ts';
import { useGet, useMutation } from '../../api/use_answer.ts';
import { span } from '../../format.ts';
import { addressOf } from '../../router.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { AskedTable, type Column, codeColumn, numberColumn, stateColumn, timeColumn } from '../../ui/data_table.tsx';
import { FormActions, SelectField, submitHandler, TextField } from '../../ui/form_fields.tsx';
import { EventLink } from '../../ui/identifiers.tsx';
import { Facts, FailureNote, StateBadge, type StateLook } from '../../ui/panel.tsx';
import { type DestinationRow, testAdvice } from './destination_rows.ts';
import type { Kind } from './setting_form.ts';

const EVERY_MS = 10_000;
const SHOWN = 100;
const HEIGHT_PX = 480;

const attemptOutcomes: Readonly<Record<AttemptItem['outcome'], StateLook>> = {
  delivered: { label: 'Delivered', badge: 'good' },
  diverted: { label: 'In retry', badge: 'warn' },
  paused: { label: 'Waiting', badge: 'warn' },
  dead: { label: 'Failed', badge: 'bad' },
  skipped: { label: 'Skipped', badge: 'plain' },
};

const FILTERS = [
  { value: '', label: 'All except skipped' },
  ...Object.entries(attemptOutcomes).map(([value, { label }]) => ({ value, label })),
];

export function DestinationAttempts({ siteId, row }: DestinationDialogProps) {
  const [outcome, setOutcome] = useState('');
  const path = `${destinationPath(siteId, row.item.name)}/attempts`;
  const query = { outcome: outcome === '' ? null : outcome, limit: SHOWN };
  const asked = useGet<{ items: AttemptItem[] }>(path, query, EVERY_MS);
  return (
    <div class="stack">
      <SelectField label="Outcome" value={outcome} onValue={setOutcome} options={FILTERS} />
      <AskedTable
        asked={asked}
        caption="Newest attempts"
        columns={columnsOf(siteId)}
        keyOf={({ event_id, attempt, attempted_at }) => `${event_id} ${attempt} ${attempted_at}`}
        csvName={`attempts-${row.item.name}`}
        heightPx={HEIGHT_PX}
        emptyText="No matching attempts in the last 30 days"
      />
    </div>
  );
}

export const ATTEMPT_COLUMNS = {
  when: timeColumn('when', 'When', ({ attempted_at }) => attempted_at),
  outcome: stateColumn('outcome', 'Outcome', ({ outcome }) => attemptOutcomes[outcome]),
  reason: codeColumn('reason', 'Reason', ({ reason }) => reason),
  answer: {
    ...{ id: 'answer', title: 'Response', value: attemptAnswer },
    cell: (one) => <span class="wraps">{attemptAnswer(one)}</span>,
  },
  attempt: { id: 'attempt', title: 'Attempt', align: 'end', value: ({ attempt }) => attempt },
} as const satisfies Record<string, Column<AttemptItem>>;

const columnsOf = (siteId: string): readonly Column<AttemptItem>[] => [
  ATTEMPT_COLUMNS.when,
  {
    ...{ id: 'event', title: 'Event', value: ({ event, event_id }) => `${event} ${event_id}` },
    cell: ({ event, event_id }) => (
      <EventLink siteId={siteId} eventId={event_id}>
        {event}
      </EventLink>
    ),
  },
  ATTEMPT_COLUMNS.outcome,
  ATTEMPT_COLUMNS.reason,
  ATTEMPT_COLUMNS.answer,
  ATTEMPT_COLUMNS.attempt,
  numberColumn(
    'took',
    'Duration',
    ({ took_ms }) => took_ms,
    (ms) => (ms === null || ms === 0 ? '–' : span(ms)),
  ),
];

function attemptAnswer({ answer }: Pick<AttemptItem, 'answer'>): string {
  return answer === null ? 'None' : `${answer.status} ${answer.body}`.trim();
}

const EVENTS = ['page_view', 'generate_lead', 'add_to_cart', 'purchase'].map((value) => ({ value }));
const CODE = 'test_event_code';

interface SendTestProps extends DestinationDialogProps {
  isUnsaved: boolean;
}

export function SendTest({ siteId, row, kind, isUnsaved }: SendTestProps) {
  const [event, setEvent] = useState('page_view');
  const [code, setCode] = useState('');
  const [answer, setAnswer] = useState<TestAnswer | null>(null);
  const action = useMutation();
  const takesCode = kind?.schema.properties?.[CODE] !== undefined;
  const isTest = takesCode && (code.trim() !== '' || (row.item.settings[CODE] ?? '') !== '');
  const typed = takesCode ? code.trim() : '';
  const body = { event, ...(typed !== '' && { test_event_code: typed }) };
  const send = () => {
    setAnswer(null);
    const path = `${destinationPath(siteId, row.item.name)}/test`;
    return action.run(() => request<TestAnswer>('POST', path, { body }), setAnswer);
  };
  return (
    <form class="stack" onSubmit={submitHandler(send)}>
      <Combobox label="Event" value={event} options={EVENTS} onValue={setEvent} takesOthers />
      {takesCode && (
        <TextField
          label="Test event code (optional)"
          hint="From the test page of the platform. Without a code the event counts as a real one."
          value={code}
          onValue={setCode}
        />
      )}
      {isUnsaved && <p class="note note-warn">There are unsaved changes: the test uses the saved settings.</p>}
      {!isTest && (
        <p class="note note-warn">
          The platform cannot tell that this is a test and counts it. It is of nobody, with hashes of a made-up e-mail
          address and id, and a value of 1 euro if any.
        </p>
      )}
      <FailureNote failure={action.failure} />
      <FormActions action={action.isBusy ? 'Sending' : 'Send test event'} disabled={action.isBusy} />
      <div role="status">{answer !== null && <Outcome answer={answer} />}</div>
    </form>
  );
}

const OUTCOMES = {
  delivered: { label: 'Delivered', badge: 'good' },
  skipped: { label: 'Skipped', badge: 'warn' },
  diverted: { label: 'Not delivered', badge: 'bad' },
  dead: { label: 'Rejected', badge: 'bad' },
  paused: { label: 'Not sent: settings rejected', badge: 'bad' },
} as const;

function Outcome({ answer }: { answer: TestAnswer }) {
  const { event_id, outcome, reason, detail, took_ms, answer: said } = answer;
  return (
    <div class="stack">
      <p class="row">
        <StateBadge of={OUTCOMES[outcome]} />
        {reason !== '' && <code>{reason}</code>}
        {took_ms > 0 && <span class="muted">after {span(took_ms)}</span>}
      </p>
      {outcome !== 'delivered' && outcome !== 'skipped' && <p>{testAdvice(reason, outcome === 'paused')}</p>}
      <Facts
        facts={[
          detail !== '' && ['Detail', detail],
          ['Event id', <code>{event_id}</code>],
          ['Response', attemptAnswer({ answer: said })],
        ]}
      />
    </div>
  );
}

export interface DestinationDialogProps {
  siteId: string;
  row: DestinationRow;
  /** Undefined where kinds are not known, or this one is there no more. */
  kind: Kind | undefined;
  mayChange: boolean;
  onChanged(): void;
  onClose(): void;
}

export const destinationPath = (siteId: string, name: string): string => sitePath(siteId, 'destinations', name);

export const replayAddress = (siteId: string, name: string): string =>
  addressOf('/replays', new URLSearchParams({ new: '1', destination: name, site: siteId, source: 'dead_letters' }));

export const deadLettersAddress = (siteId: string, name: string): string =>
  addressOf('/dead-letters', new URLSearchParams({ period: '24h', site: siteId, destination: name }));

/** What reasons of skips say. */
export const WHY_SKIPPED: Readonly<Record<string, string>> = {
  rule: 'a rule of this destination',
  not_in_destinations: 'excluded by the event or its definition',
  anonymous_site: 'the site was in offline mode',
  historical: 'imported from the past',
  too_old: 'too old for the platform',
  destination_disabled: 'the destination was disabled before the retry',
  no_destination: 'the destination was removed before the retry',
  consent_denied: 'the visitor did not consent',
  consent_denied_by_default: 'consent was not stated, and is denied by default',
  gpc: 'the browser opted out (Global Privacy Control)',
  insufficient_user_data: 'no data to match a person by',
  no_platform_event: 'the platform has no matching event',
  routed_in_browser: 'sent by the browser',
};
