import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AttemptItem } from '#services/control_api/destinations.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { span } from '../../format.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { EventLink } from '../../ui/event_link.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { ATTEMPT_COLUMNS } from './attempt_columns.tsx';
import { attemptOutcomes } from './attempt_text.ts';
import { type DestinationDialogProps, destinationPath } from './destination_place.ts';

const EVERY_MS = 10_000;
const SHOWN = 100;
const HEIGHT_PX = 480;

const FILTERS = [
  { value: '', label: 'All but skipped' },
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
  ATTEMPT_COLUMNS.when,
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
  ATTEMPT_COLUMNS.outcome,
  ATTEMPT_COLUMNS.reason,
  ATTEMPT_COLUMNS.answer,
  ATTEMPT_COLUMNS.attempt,
  {
    id: 'took',
    title: 'Took',
    align: 'end',
    value: ({ took_ms }) => took_ms,
    cell: ({ took_ms }) => (took_ms === 0 ? '–' : span(took_ms)),
  },
];
