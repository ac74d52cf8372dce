import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import { theme } from '../browser_storage.ts';
import { intervalStart, number } from '../format.ts';
import { laterStart, type Period } from '../period.ts';
import { ChartActions, ChartTable, colourOf, type Series, ZoneNote } from './chart_table.tsx';
import type { Drawing } from './uplot_chart.ts';

interface TimeSeriesProps {
  /** What the chart shows; heard, not shown. */
  title: string;
  /** What a picture of it says that it is of, where that is more. */
  subject?: string;
  starts: readonly number[];
  interval: Period['interval'];
  /** The zone in which they begin. */
  timeZone: string;
  series: readonly Series[];
  format?: (value: number | null) => string;
  /** How the axis has its numbers; left out: short. */
  axis?: (value: number) => string;
  heightPx?: number;
  /** What lines of an earlier time are called. */
  beforeName?: string;
  onPoint?: (series: number, interval: number) => void;
  /** The numbers for a spreadsheet, where no other button saves them. */
  table?: () => AnswerTable;
}

const HEIGHT_PX = 240;

/** Lines over time, with the same numbers as a table below. The code that draws is fetched with the first chart. */
export function TimeSeries(props: TimeSeriesProps) {
  const { title, starts, interval, timeZone, series, format = number, heightPx = HEIGHT_PX, onPoint } = props;
  const { beforeName = 'Previous period', table, axis, subject } = props;
  const host = useRef<HTMLDivElement>(null);
  const [draw, setDraw] = useState<{ chart(host: HTMLElement, drawing: Drawing): () => void } | null>(null);
  useEffect(() => {
    void import('./uplot_chart.ts').then(({ drawChart }) => setDraw({ chart: drawChart }));
  }, []);
  const scheme = theme.value;
  // A newer function does not draw the chart anew.
  const pointed = useRef(onPoint);
  pointed.current = onPoint;
  const hasPoints = onPoint !== undefined;
  const last = starts.at(-1);
  const hasRunning = last !== undefined && laterStart(last, interval, 1, timeZone) > Date.now();
  const [first, end] = [starts[0] ?? 0, last ?? 0].map((start) => intervalStart(start, interval, timeZone));
  // Colours are read when it is drawn, so another scheme draws it anew.
  useEffect(() => {
    if (draw === null || host.current === null) return undefined;
    const labelOf = (start: number): string => intervalStart(start, interval, timeZone);
    const points = hasPoints ? { onPoint: (one: number, at: number) => pointed.current?.(one, at) } : {};
    return draw.chart(host.current, {
      ...{ starts, hasRunning, series, heightPx, format, labelOf, ...points },
      ...(axis !== undefined && { axis }),
    });
  }, [draw, starts, hasRunning, series, heightPx, interval, timeZone, format, axis, scheme, hasPoints]);
  return (
    <figure class="chart" aria-label={title}>
      <ul class="row chart-legend" aria-hidden="true">
        {series.map(({ name, isBefore = false }, at) =>
          isBefore ? null : (
            <li key={name} class="chart-key" style={{ '--key': `var(${colourOf(series, at)})` }}>
              {name}
            </li>
          ),
        )}
        {series.some(({ isBefore = false }) => isBefore) && (
          <li class="chart-key chart-key-before" style={{ '--key': 'var(--chart-1)' }}>
            {beforeName}
          </li>
        )}
      </ul>
      <div class="chart-canvas" aria-hidden="true" ref={host} style={{ height: `${heightPx}px` }} />
      <div class="row">
        <ZoneNote zone={timeZone} />
        <ChartActions
          title={title}
          subject={subject}
          table={table}
          when={`${first} – ${end}, ${timeZone}`}
          draw={
            draw === null
              ? null
              : async ({ saveChart }, head, name) => {
                  if (host.current !== null) await saveChart(host.current, series, head, name);
                }
          }
        />
      </div>
      <ChartTable
        caption={title}
        starts={starts}
        interval={interval}
        timeZone={timeZone}
        hasRunning={hasRunning}
        series={series}
        format={format}
        {...(onPoint !== undefined && { onCell: onPoint })}
      />
    </figure>
  );
}

const WIDTH = 120;
const HEIGHT = 32;

/** How a number went, without axes; the number itself stands beside it. */
export function Sparkline({ values }: { values: readonly (number | null)[] }) {
  const known = values.filter((value) => value !== null);
  // Where more was paid back than paid, there is something below nothing.
  const [min, max] = [Math.min(...known, 0), Math.max(...known, 1)];
  const step = WIDTH / Math.max(1, values.length - 1);
  const heightOf = (value: number): number => HEIGHT - 2 - ((value - min) / (max - min)) * (HEIGHT - 4);
  const points = values.flatMap((value, at) =>
    value === null ? [] : [`${(at * step).toFixed(1)},${heightOf(value).toFixed(1)}`],
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {values.length > 1 && (
        <>
          <polygon points={`0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
          <polyline points={points.join(' ')} />
        </>
      )}
    </svg>
  );
}
