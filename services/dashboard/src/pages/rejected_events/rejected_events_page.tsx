import { useMemo } from 'preact/hooks';
import type { RejectionSampleItem, RejectionsItem } from '#services/control_api/operations.ts';
import { request, sitePath } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import { TimeSeries } from '../../charts/time_series.tsx';
import { dateTime } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { type Period, readPeriod, timeZone } from '../../period.ts';
import { currentLocation } from '../../router.ts';
import { type Column, codeColumn, DataTable, numberColumn, stateColumn } from '../../ui/data_table.tsx';
import { Empty, Panel, Shown } from '../../ui/panel.tsx';
import { KINDS, keptPart, reasonText, rejectionChart } from './rejection_reasons.ts';

const EVERY_MS = 30_000;

export default function RejectionsPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const nowMs = Date.now();
  const period = readPeriod(currentLocation.value.query, nowMs);
  const asked = useQuery(
    `${siteId} ${period.from} ${period.lastDay}`,
    (signal) => {
      const query = { ...keptPart(period, Date.now()), interval: 'hour' };
      return request<RejectionsItem>('GET', sitePath(siteId, 'refusals'), { query, signal });
    },
    EVERY_MS,
  );
  return (
    <Shown asked={asked} lines={10}>
      {(rejections) => <RejectionsView siteId={siteId} rejections={rejections} period={period} />}
    </Shown>
  );
}

interface ViewProps {
  siteId: string;
  rejections: RejectionsItem;
  period: Period;
}

function RejectionsView({ siteId, rejections, period }: ViewProps) {
  if (rejections.totals.length === 0) return <NothingFound rejections={rejections} />;
  return (
    <div class="stack">
      <Panel title="By reason" note={<KnownSince rejections={rejections} />}>
        <DataTable
          caption="Rejected events by reason"
          columns={COLUMNS}
          rows={rejections.totals}
          keyOf={({ kind, code }) => `${kind} ${code}`}
          csvName={`rejected-events-${siteId}`}
        />
      </Panel>
      <Course rejections={rejections} interval={period.interval === 'hour' ? 'hour' : 'day'} />
      <RejectionSamples siteId={siteId} samples={rejections.samples} />
    </div>
  );
}

/** That nothing was found is good only where it was looked for. */
function NothingFound({ rejections }: Pick<ViewProps, 'rejections'>) {
  if (rejections.from >= rejections.to) return <Empty title="Rejected events are kept for 7 days" />;
  if (rejections.known_since === null) return <Empty title="No data yet" />;
  return (
    <Empty title="No rejected events in this period">
      <KnownSince rejections={rejections} />
    </Empty>
  );
}

function KnownSince({ rejections: { known_since, from } }: Pick<ViewProps, 'rejections'>) {
  const since = dateTime(Math.max(known_since ?? from, from));
  return <>Events and whole requests since {since}. They are kept for 7 days.</>;
}

function Course({ rejections, interval }: { rejections: RejectionsItem; interval: 'hour' | 'day' }) {
  const zone = timeZone();
  const { starts, series } = useMemo(() => rejectionChart(rejections, interval, zone), [rejections, interval, zone]);
  return (
    <Panel title={`Over time, by ${interval}`}>
      <div class="chart-room">
        <TimeSeries
          title={`Rejected events by ${interval}`}
          starts={starts}
          interval={interval}
          timeZone={zone}
          series={series}
        />
      </div>
    </Panel>
  );
}

type Total = RejectionsItem['totals'][number];

const COLUMNS: readonly Column<Total>[] = [
  stateColumn('kind', 'Kind', ({ kind }) => ({ label: KINDS[kind].counted, badge: KINDS[kind].badge })),
  codeColumn('code', 'Reason', ({ code }) => code),
  numberColumn('count', 'Count', ({ count }) => count),
  {
    ...{ id: 'text', title: 'Explanation', value: ({ code }) => reasonText(code) },
    cell: ({ code }) => <span class="wraps">{reasonText(code)}</span>,
  },
];

interface SamplesProps {
  siteId: string;
  /** Null: they are not for the role of who looks. */
  samples: readonly RejectionSampleItem[] | null;
}

/** Some of what was not accepted: names alone, which strangers chose. */
const RejectionSamples = ({ siteId, samples }: SamplesProps) => (
  <Panel
    title="Samples"
    note="The newest of each reason, at most 100. Names are cleaned of e-mail addresses and phone numbers; values are not kept."
  >
    {samples === null ? (
      <p class="muted">Your role cannot see samples.</p>
    ) : (
      <DataTable
        caption="Samples of rejected events"
        columns={SAMPLE_COLUMNS}
        rows={samples.map((sample, place) => ({ ...sample, place }))}
        keyOf={({ at, place }) => `${at} ${place}`}
        csvName={`rejected-event-samples-${siteId}`}
        emptyText="No samples in this period"
      />
    )}
  </Panel>
);

type Row = RejectionSampleItem & { place: number };

const SAMPLE_COLUMNS: readonly Column<Row>[] = [
  { id: 'at', title: 'When', value: ({ at }) => new Date(at).toISOString(), cell: ({ at }) => dateTime(at) },
  stateColumn('kind', 'Kind', ({ kind }) => KINDS[kind]),
  codeColumn('code', 'Reason', ({ code }) => code),
  { id: 'event', title: 'Event', value: ({ event }) => event, cell: ({ event }) => event ?? '–' },
  { id: 'index', title: 'Index', align: 'end', value: ({ index }) => index, cell: ({ index }) => index ?? '–' },
  {
    ...{ id: 'key', title: 'Key', value: keyName },
    cell: (row) => (row.key === null ? '–' : <span class="mono">{keyName(row)}</span>),
  },
  { id: 'caller', title: 'Source', value: ({ caller }) => caller, cell: ({ caller }) => caller ?? '–' },
  {
    ...{ id: 'fields', title: 'Fields', value: ({ fields }) => fields.join(' ') },
    cell: ({ fields }) => <span class="wraps">{fields.length === 0 ? '–' : fields.join(', ')}</span>,
  },
];

function keyName({ key }: Row): string | null {
  return key === null ? null : (key.shown_prefix ?? key.key_id);
}
