import type { VNode } from 'preact';
import type { RefusalSampleItem } from '#services/control_api/operations.ts';
import { dateTime } from '../../format.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Panel } from '../../ui/panel.tsx';
import { KINDS } from './reason_texts.ts';

interface SamplesProps {
  siteId: string;
  /** Null: they are not for the role of who looks. */
  samples: readonly RefusalSampleItem[] | null;
}

/** Some of what was not accepted: names alone, which strangers chose. */
export function RefusalSamples({ siteId, samples }: SamplesProps): VNode {
  return (
    <Panel
      title="Samples"
      note="The newest of each reason, at most 100. Names are cleaned of e-mail addresses and phone numbers; values are not kept."
    >
      {samples === null ? (
        <p class="muted">Samples are not for your role to see.</p>
      ) : (
        <DataTable
          caption="Samples of what was not accepted"
          columns={COLUMNS}
          rows={samples.map((sample, place) => ({ ...sample, place }))}
          keyOf={({ at, place }) => `${at} ${place}`}
          csvName={`not-accepted-samples-${siteId}`}
          emptyText="No samples of this time"
        />
      )}
    </Panel>
  );
}

type Row = RefusalSampleItem & { place: number };

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'at',
    title: 'When',
    value: ({ at }) => new Date(at).toISOString(),
    cell: ({ at }) => dateTime(at),
  },
  {
    id: 'kind',
    title: 'Kind',
    value: ({ kind }) => KINDS[kind].label,
    cell: ({ kind }) => <Badge kind={KINDS[kind].badge}>{KINDS[kind].label}</Badge>,
  },
  { id: 'code', title: 'Reason', value: ({ code }) => code, cell: ({ code }) => <code>{code}</code> },
  { id: 'event', title: 'Event', value: ({ event }) => event, cell: ({ event }) => event ?? '–' },
  { id: 'index', title: 'Place', align: 'end', value: ({ index }) => index, cell: ({ index }) => index ?? '–' },
  {
    id: 'key',
    title: 'Key',
    value: keyName,
    cell: (row) => (row.key === null ? '–' : <span class="mono">{keyName(row)}</span>),
  },
  { id: 'caller', title: 'Source', value: ({ caller }) => caller, cell: ({ caller }) => caller ?? '–' },
  {
    id: 'fields',
    title: 'Fields',
    value: ({ fields }) => fields.join(' '),
    cell: ({ fields }) => <span class="wraps">{fields.length === 0 ? '–' : fields.join(', ')}</span>,
  },
];

function keyName({ key }: Row): string | null {
  return key === null ? null : (key.shown_prefix ?? key.key_id);
}
