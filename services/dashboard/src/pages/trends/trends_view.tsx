import { useMemo } from 'preact/hooks';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { COLOURS, ZoneNote } from '../../charts/chart_table.tsx';
import { TimeSeries } from '../../charts/time_series.tsx';
import { change, intervalStart, number } from '../../format.ts';
import { API_ZONE } from '../../period.ts';
import type { AnswerViewProps } from '../../questions/actor_dialog.tsx';
import { FigureLink } from '../../ui/button.tsx';
import { type Column, DataTable, numberColumn } from '../../ui/data_table.tsx';
import { startsOf, type TrendLine, trendLines } from './trends_draft.ts';

export function TrendsView({ query, answer, onPart }: AnswerViewProps<'trends'>) {
  const lines = useMemo(() => trendLines(query, answer), [query, answer]);
  const starts = useMemo(() => startsOf(answer), [answer]);
  const drawn = useMemo(() => lines.slice(0, COLOURS).flatMap(drawnOf), [lines]);
  const series = useMemo(() => drawn.map(({ series: one }) => one), [drawn]);
  const { interval: length, time_zone: zone = API_ZONE } = query;
  const list = (line: TrendLine, isBefore: boolean, start: number | null): void => {
    if (line.part === null || onPart === undefined) return;
    const when = isBefore ? ', previous period' : start === null ? '' : `, ${intervalStart(start, length, zone)}`;
    onPart({
      title: `${line.name}${when}`,
      of: {
        ...{ trends: query, ...line.part },
        ...(isBefore && { before: true }),
        ...(start !== null && { interval_from: start }),
      },
    });
  };
  const onPoint = (at: number, interval: number): void => {
    const { line, isBefore } = drawn[at] ?? {};
    const start = starts[interval];
    if (line !== undefined && isBefore === false && start !== undefined) list(line, false, start);
  };
  const canList = onPart !== undefined && lines.some(({ part }) => part !== null);
  return (
    <div class="stack">
      <TimeSeries
        title="Trends"
        starts={starts}
        interval={length}
        timeZone={zone}
        series={series}
        heightPx={300}
        {...(canList && { onPoint })}
      />
      <ZoneNote zone={zone} />
      {lines.length > COLOURS && (
        <p class="muted small">
          The first {COLOURS} of {lines.length} lines are drawn; the table has all of them.
        </p>
      )}
      <DataTable
        caption="Totals"
        columns={columnsOf(query, canList ? list : null)}
        rows={lines}
        keyOf={({ name, part }) => `${name} ${JSON.stringify(part)}`}
        csvName="trends-totals"
      />
    </div>
  );
}

/** A line as it is drawn, and the thin one of the time before. */
function drawnOf(line: TrendLine) {
  const own = { line, isBefore: false, series: { name: line.name, values: line.values } };
  if (line.valuesBefore === null) return [own];
  const name = `${line.name}, previous period`;
  return [own, { line, isBefore: true, series: { name, values: line.valuesBefore, isBefore: true } }];
}

function columnsOf(
  { compare }: TrendsQuery,
  list: ((line: TrendLine, isBefore: boolean, start: number | null) => void) | null,
): Column<TrendLine>[] {
  const figure = (line: TrendLine, value: number | null, isBefore: boolean) => (
    <FigureLink
      text={number(value)}
      label={`${number(value)}: show people, ${line.name}${isBefore ? ', previous period' : ''}`}
      act={list !== null && line.part !== null && value ? () => list(line, isBefore, null) : undefined}
    />
  );
  const own: Column<TrendLine>[] = [
    { id: 'name', title: 'Series', value: ({ name }) => name },
    numberColumn(
      'total',
      'Whole period',
      ({ total }) => total,
      (total, line) => figure(line, total, false),
    ),
  ];
  if (compare === undefined) return own;
  return [
    ...own,
    numberColumn(
      'before',
      'Previous period',
      ({ before }) => before,
      (before, line) => figure(line, before, true),
    ),
    {
      ...{ id: 'change', title: 'Change', align: 'end' },
      value: ({ total, before }) => (before === null || before === 0 || total === null ? null : total / before - 1),
      cell: ({ total, before }) => (before === null || total === null ? '–' : (change(total, before)?.text ?? '–')),
    },
  ];
}
