import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import { idOf, intervalStart, number } from '../format.ts';
import { Button, FigureLink } from '../ui/button.tsx';

interface ChartTableProps {
  caption: string;
  interval: string;
  timeZone: string;
  starts: readonly number[];
  /** Whether the last interval has not ended. */
  hasRunning?: boolean;
  series: readonly { name: string; values: readonly (number | null)[]; isBefore?: boolean }[];
  format(value: number | null): string;
  onCell?: (series: number, interval: number) => void;
}

/** The numbers of a chart as a table, for whoever does not see it or wants to know exactly. */
export function ChartTable({
  caption,
  interval,
  timeZone,
  starts,
  hasRunning = false,
  series,
  format,
  onCell,
}: ChartTableProps) {
  const named = starts.map((start, at) => {
    const isRunning = hasRunning && at === starts.length - 1;
    return intervalStart(start, interval, timeZone) + (isRunning ? ' (so far)' : '');
  });
  return (
    <details class="chart-table">
      <summary>Show as a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section class="table-scroll" aria-label={`${caption}, as a table`} tabIndex={0}>
        <table>
          <caption class="hidden">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              {series.map(({ name }) => (
                <th key={name} scope="col" class="align-end">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {starts.map((start, at) => (
              <tr key={start}>
                <td>{named[at]}</td>
                {series.map(({ name, values, isBefore = false }, one) => (
                  <td key={name} class="align-end">
                    <FigureLink
                      text={format(values[at] ?? null)}
                      label={`${format(values[at] ?? null)}: show people, ${name}, ${named[at]}`}
                      act={onCell && !isBefore && values[at] ? () => onCell(one, at) : undefined}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

/** A line of a chart: a value for every start, null where there is none. */
export interface Series {
  name: string;
  values: readonly (number | null)[];
  /** Of the time before: thin and dashed, in the colour of the line before it. */
  isBefore?: boolean;
}

export const COLOURS = 8;
export const AXIS_FONT_PX = 11;

/** The colour of a series, as a property of the styles: one of its own, or that of the series whose time before it shows. */
export function colourOf(series: readonly Series[], at: number): string {
  const own = series.slice(0, at + 1).filter(({ isBefore = false }) => !isBefore).length;
  return `--chart-${((Math.max(1, own) - 1) % COLOURS) + 1}`;
}

/** A colour as the canvas takes it: light-dark() is worked out by an element that has it. */
export function resolved(host: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  host.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Says in which zone the intervals of an answer begin. */
export const ZoneNote = ({ zone }: { zone: string }) => <p class="muted small">Time zone: {zone}</p>;

interface ChartActionsProps {
  title: string;
  /** What a picture says that it is of, where that is more than the title. */
  subject?: string | undefined;
  /** The numbers as they are saved for a spreadsheet; without it there is no such button. */
  table?: (() => AnswerTable) | undefined;
  /** Saves its picture under a title and a name of a file; null: it is not drawn yet. */
  draw: ((images: typeof import('./chart_image.ts'), title: string, name: string) => Promise<void>) | null;
  /** Of which time it is, and in which zone. */
  when: string;
}

/** Buttons that save a chart as a picture and as a table, by code that is fetched for that. */
export const ChartActions = ({ title, subject = title, table, draw, when }: ChartActionsProps) => (
  <>
    <Button
      kind="small quiet"
      icon="download"
      label="PNG"
      aria-label={`PNG of ${title}`}
      disabled={draw === null}
      onClick={async () => draw?.(await import('./chart_image.ts'), `${subject}, ${when}`, idOf(title))}
    />
    {table !== undefined && (
      <Button
        kind="small quiet"
        icon="download"
        label="CSV"
        aria-label={`CSV of ${title}`}
        onClick={async () => (await import('./chart_image.ts')).saveNumbers(idOf(title), table())}
      />
    )}
  </>
);

interface BarActionsProps extends Pick<ChartActionsProps, 'title' | 'when'> {
  /** What a bar is of, and what is counted of it. */
  what: string;
  counted: string;
  bars: readonly { name: string; count: number }[];
  /** Another column of its table. */
  more?: { title: string; of: readonly (number | null)[] };
}

/** The same of bars that stand in a list. */
export function BarActions({ title, when, what, counted, bars, more }: BarActionsProps) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return (
    <p class="row">
      <ChartActions
        title={title}
        when={when}
        table={() => ({
          columns: [what, counted, ...(more === undefined ? [] : [more.title])],
          rows: bars.map(({ name, count }, at) => [name, count, ...(more === undefined ? [] : [more.of[at] ?? null])]),
        })}
        draw={({ barsPicture, savePicture }, head, file) => {
          const rows = bars.map(({ name, count }) => ({ name, share: count / most, text: number(count) }));
          return savePicture(barsPicture(rows), head, file);
        }}
      />
    </p>
  );
}
