import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { TestAnswer } from '#services/control_api/destinations.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { span } from '../../format.ts';
import { Badge } from '../../ui/badge.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { type DestinationDialogProps, destinationPath } from './destination_place.ts';
import { testAdvice } from './destination_rows.ts';

const EVENTS = ['page_view', 'generate_lead', 'add_to_cart', 'purchase'].map((value) => ({ value }));
const CODE = 'test_event_code';

interface SendTestProps extends DestinationDialogProps {
  /** Whether settings were changed and not saved. */
  isUnsaved: boolean;
}

/** Sends one event that is marked as a test, and shows what the platform answered. */
export function SendTest({ siteId, row, kind, isUnsaved }: SendTestProps): VNode {
  const [event, setEvent] = useState('page_view');
  const [code, setCode] = useState('');
  const [answer, setAnswer] = useState<TestAnswer | null>(null);
  const action = useAction();
  const takesCode = kind?.schema.properties?.[CODE] !== undefined;
  const isTest = takesCode && (code.trim() !== '' || (row.item.settings[CODE] ?? '') !== '');
  const send = async (submitted: Event): Promise<void> => {
    submitted.preventDefault();
    setAnswer(null);
    const body = { event, ...(takesCode && code.trim() !== '' && { test_event_code: code.trim() }) };
    const path = `${destinationPath(siteId, row.item.name)}/test`;
    setAnswer(await action.run(() => request<TestAnswer>('POST', path, { body })));
  };
  return (
    <form class="stack" onSubmit={(submitted) => void send(submitted)}>
      <Combobox label="Event" value={event} options={EVENTS} onValue={setEvent} takesOthers />
      {takesCode && (
        <TextField
          label="Test event code (optional)"
          hint="Of the platform's page for tests. Without one the event counts there like any other."
          value={code}
          onValue={setCode}
        />
      )}
      {isUnsaved && (
        <p class="note note-warn">Settings were changed and not saved: this goes out with those that are stored.</p>
      )}
      {!isTest && (
        <p class="note note-warn">
          The platform is not told that this is a test: it counts there. It is of nobody, and worth 1 euro where it has
          a value.
        </p>
      )}
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <div class="actions">
        <button type="submit" class="button primary" disabled={action.isBusy}>
          {action.isBusy ? 'Sending' : 'Send a test event'}
        </button>
      </div>
      <div role="status">{answer !== null && <Outcome answer={answer} />}</div>
    </form>
  );
}

const OUTCOMES = {
  delivered: { label: 'Delivered', badge: 'good' },
  skipped: { label: 'Skipped', badge: 'warn' },
  diverted: { label: 'Not delivered', badge: 'bad' },
  dead: { label: 'Refused', badge: 'bad' },
  paused: { label: 'Not sent: the settings are refused', badge: 'bad' },
} as const;

function Outcome({ answer }: { answer: TestAnswer }): VNode {
  const { event_id, outcome, reason, detail, took_ms, answer: said } = answer;
  return (
    <div class="stack">
      <p class="row">
        <Badge kind={OUTCOMES[outcome].badge}>{OUTCOMES[outcome].label}</Badge>
        {reason !== '' && <code>{reason}</code>}
        {took_ms > 0 && <span class="muted">after {span(took_ms)}</span>}
      </p>
      {outcome !== 'delivered' && outcome !== 'skipped' && <p>{testAdvice(reason, outcome === 'paused')}</p>}
      <dl class="facts">
        {detail !== '' && (
          <>
            <dt>Detail</dt>
            <dd>{detail}</dd>
          </>
        )}
        <dt>Event id</dt>
        <dd>
          <code>{event_id}</code>
        </dd>
        <dt>Answer</dt>
        <dd>{said === null ? 'None' : `${said.status} ${said.body}`}</dd>
      </dl>
    </div>
  );
}
