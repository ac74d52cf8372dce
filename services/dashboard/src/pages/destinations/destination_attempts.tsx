import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AttemptItem } from '#services/control_api/attempt_shapes.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime, span } from '../../format.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { EventLink } from '../../ui/event_link.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { attemptAnswer, attemptOutcomes } from './attempt_text.ts';
import { type DestinationDialogProps, destinationPath } from './destination_place.ts';

const EVERY_MS = 10_000;
const SHOWN = 100;
const HEIGHT_PX = 480;

const FILTERS = [
  { value: '', label: 'All but those left out' },
  ...Object.entries(attemptOutcomes).map(([value, { label }]) => ({ value, label })),
];

/** The newest attempts to deliver to a destination, with what its platform answered. */
export function DestinationAttempts({ siteId, row }: DestinationDialogProps): VNode {
  const [outcome, setOutcome] = useState('');
  const path = `${destinationPath(siteId, row.item.name)}/attempts`;
  const query = { outcome: outcome === '' ? null : outcome, limit: SHOWN };
  const asked = useAnswer(
    outcome,
    (signal) => request<{ items: AttemptItem[] }>('GET', path, { query, signal }),
    EVERY_MS,
  );
  return (
    <div class="stack">
      <SelectField label="Which attempts" value={outcome} onValue={setOutcome} options={FILTERS} />
      <Shown asked={asked}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No such attempt in the last 30 days" />
          ) : (
            <DataTable
              caption="Newest attempts"
              columns={columnsOf(siteId)}
              rows={items}
              keyOf={({ event_id, attempt, attempted_at }) => `${event_id} ${attempt} ${attempted_at}`}
              csvName={`attempts-${row.item.name}`}
              heightPx={HEIGHT_PX}
            />
          )
        }
      </Shown>
    </div>
  );
}

const columnsOf = (siteId: string): readonly Column<AttemptItem>[] => [
  {
    id: 'when',
    title: 'When',
    value: ({ attempted_at }) => attempted_at,
    cell: ({ attempted_at }) => dateTime(attempted_at),
  },
  {
    id: 'event',
    title: 'Event',
    value: ({ event, event_id }) => `${event} ${event_id}`,
    cell: ({ event, event_id }) => (
      <EventLink siteId={siteId} eventId={event_id}>
        {event}
      </EventLink>
    ),
  },
  {
    id: 'outcome',
    title: 'Outcome',
    value: ({ outcome }) => attemptOutcomes[outcome].label,
    cell: ({ outcome }) => <Badge kind={attemptOutcomes[outcome].badge}>{attemptOutcomes[outcome].label}</Badge>,
  },
  {
    id: 'reason',
    title: 'Reason',
    value: ({ reason }) => reason,
    cell: ({ reason }) => (reason === '' ? '–' : <code>{reason}</code>),
  },
  {
    id: 'answer',
    title: 'Answer',
    value: attemptAnswer,
    cell: (one) => <span class="wraps">{attemptAnswer(one)}</span>,
  },
  { id: 'attempt', title: 'Try', align: 'end', value: ({ attempt }) => attempt },
  {
    id: 'took',
    title: 'Took',
    align: 'end',
    value: ({ took_ms }) => took_ms,
    cell: ({ took_ms }) => (took_ms === 0 ? '–' : span(took_ms)),
  },
];
