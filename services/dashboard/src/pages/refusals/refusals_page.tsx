import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { RefusalsItem } from '#services/control_api/operations.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { TimeSeries } from '../../charts/time_series.tsx';
import { dateTime, number } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { type Period, readPeriod, timeZone } from '../../period.ts';
import { place } from '../../router.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { KINDS, reasonText } from './reason_texts.ts';
import { keptPart, refusalChart } from './refusal_chart.ts';
import { RefusalSamples } from './refusal_samples.tsx';

const EVERY_MS = 30_000;

/** What the edge did not accept of a site, why, and what to do about it. */
export default function RefusalsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const nowMs = Date.now();
  const period = readPeriod(place.value.query, nowMs);
  const asked = useAnswer(
    `${siteId} ${period.from} ${period.lastDay}`,
    (signal) => {
      const query = { ...keptPart(period, Date.now()), interval: 'hour' };
      return request<RefusalsItem>('GET', `/v1/admin/sites/${encodeURIComponent(siteId)}/refusals`, { query, signal });
    },
    EVERY_MS,
  );
  return (
    <Shown asked={asked} lines={10}>
      {(refusals) => <RefusalsView siteId={siteId} refusals={refusals} period={period} />}
    </Shown>
  );
}

interface ViewProps {
  siteId: string;
  refusals: RefusalsItem;
  period: Period;
}

function RefusalsView({ siteId, refusals, period }: ViewProps): VNode {
  if (refusals.totals.length === 0) return <NothingFound refusals={refusals} />;
  return (
    <div class="stack">
      <Panel title="By reason" note={<KnownSince refusals={refusals} />}>
        <DataTable
          caption="What was not accepted, by reason"
          columns={COLUMNS}
          rows={refusals.totals}
          keyOf={({ kind, code }) => `${kind} ${code}`}
          csvName={`not-accepted-${siteId}`}
        />
      </Panel>
      <Course refusals={refusals} interval={period.interval === 'hour' ? 'hour' : 'day'} />
      <RefusalSamples siteId={siteId} samples={refusals.samples} />
    </div>
  );
}

/** That nothing was found is good only where it was looked for. */
function NothingFound({ refusals }: Pick<ViewProps, 'refusals'>): VNode {
  if (refusals.from >= refusals.to) return <Empty title="What was not accepted is kept for 7 days" />;
  if (refusals.known_since === null) return <Empty title="No edge has counted yet, so nothing is known" />;
  return (
    <Empty title="Everything was accepted in this time">
      <KnownSince refusals={refusals} />
    </Empty>
  );
}

function KnownSince({ refusals: { known_since, from } }: Pick<ViewProps, 'refusals'>): VNode {
  const since = dateTime(Math.max(known_since ?? from, from));
  return <>Events, and requests of which nothing was taken, since {since}. They are kept for 7 days.</>;
}

function Course({ refusals, interval }: { refusals: RefusalsItem; interval: 'hour' | 'day' }): VNode {
  const zone = timeZone();
  const { starts, series } = useMemo(() => refusalChart(refusals, interval, zone), [refusals, interval, zone]);
  return (
    <Panel title={`Over time, by ${interval}`}>
      <div class="chart-room">
        <TimeSeries
          title={`What was not accepted, by ${interval}`}
          starts={starts}
          interval={interval}
          timeZone={zone}
          series={series}
        />
      </div>
    </Panel>
  );
}

type Total = RefusalsItem['totals'][number];

const COLUMNS: readonly Column<Total>[] = [
  {
    id: 'kind',
    title: 'Kind',
    value: ({ kind }) => KINDS[kind].counted,
    cell: ({ kind }) => <Badge kind={KINDS[kind].badge}>{KINDS[kind].counted}</Badge>,
  },
  { id: 'code', title: 'Reason', value: ({ code }) => code, cell: ({ code }) => <code>{code}</code> },
  { id: 'count', title: 'How many', align: 'end', value: ({ count }) => count, cell: ({ count }) => number(count) },
  {
    id: 'text',
    title: 'What it means, and what to do',
    value: ({ code }) => reasonText(code),
    cell: ({ code }) => <span class="wraps">{reasonText(code)}</span>,
  },
];
