import uPlot from 'uplot';
import { compact } from '../format.ts';
import { AXIS_FONT_PX, colourOf, resolved, type Series } from './chart_table.tsx';

export interface Drawing {
  starts: readonly number[];
  /** Whether the last interval has not ended: the line to it is dashed. */
  hasRunning: boolean;
  series: readonly Series[];
  heightPx: number;
  format(value: number | null): string;
  /** How the axis has its numbers; left out: short. */
  axis?(value: number): string;
  labelOf(start: number): string;
  /** Hears of clicks: at the point nearest to the pointer, by its series and its interval. */
  onPoint?: (series: number, interval: number) => void;
}

/** A page that is read from afar has it larger. */
const axisFontPx = (host: HTMLElement): number =>
  Number(getComputedStyle(host).getPropertyValue('--axis-font')) || AXIS_FONT_PX;
/** Least room for the name of an interval, by its characters, and between two of them. */
const CHARACTER_PX = 6;
const GAP_PX = 20;

/** Draws a chart in an element, as wide as that is, now and when its size or the device's scheme changes. Answers how to end it. */
export function drawChart(host: HTMLElement, drawing: Drawing): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let plot: uPlot | null = null;
  let fontPx = AXIS_FONT_PX;
  const make = (): void => {
    plot?.destroy();
    fontPx = axisFontPx(host);
    plot = new uPlot(optionsOf(host, drawing), dataOf(drawing), host);
  };
  make();
  const resized = new ResizeObserver(() => {
    if (fontPx === axisFontPx(host)) plot?.setSize({ width: host.clientWidth, height: drawing.heightPx });
    else make();
  });
  resized.observe(host);
  dark.addEventListener('change', make);
  return () => {
    resized.disconnect();
    dark.removeEventListener('change', make);
    plot?.destroy();
  };
}

/** Each line, and behind all of them the part of each that leads to the running interval, where there is one. */
function dataOf(drawing: Drawing): uPlot.AlignedData {
  const { starts, series } = drawing;
  const last = starts.length - 1;
  const parts = runningSeries(drawing);
  const whole = series.map((one) =>
    parts.includes(one) ? one.values.map((value, at) => (at === last ? null : value)) : [...one.values],
  );
  const running = parts.map(({ values }) => values.map((value, at) => (at < last - 1 ? null : value)));
  return [starts.map((start) => start / 1000), ...whole, ...running];
}

/** A line of one point has no part to dash, and the time before is dashed and over. */
const runningSeries = ({ starts, hasRunning, series }: Drawing): Series[] =>
  hasRunning && starts.length > 1 ? series.filter(({ isBefore = false }) => !isBefore) : [];

function optionsOf(host: HTMLElement, drawing: Drawing): uPlot.Options {
  const { series, heightPx, starts, axis: written = compact } = drawing;
  const styles = getComputedStyle(host);
  const isWhole = drawing.axis === undefined && series.every(({ values }) => values.every(isWholeOrNone));
  const line = resolved(host, '--line');
  const soft = resolved(host, '--text-soft');
  const fontPx = axisFontPx(host);
  const larger = fontPx / AXIS_FONT_PX;
  const axis = { stroke: soft, font: `${fontPx}px ${styles.fontFamily}`, ticks: { show: false } };
  return {
    width: host.clientWidth || Number.parseFloat(styles.width) || 320,
    height: heightPx,
    legend: { show: false },
    padding: [8, 44, 0, 0],
    scales: { y: { range: (_plot, min, max) => [min < 0 ? min * 1.08 : 0, max > 0 ? max * 1.08 : 1] } },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28 * larger,
        splits: (plot) => labelled(drawing, plot.width / larger),
        values: (_plot, splits) => splits.map((at) => drawing.labelOf(at * 1000)),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 52 * larger,
        ...(isWhole && { incrs: WHOLE_STEPS }),
        values: (_plot, splits) => splits.map((at) => written(at)),
      },
    ],
    series: [
      {},
      ...series.map((one, at): uPlot.Series => {
        const colour = resolved(host, colourOf(series, at));
        const points = { show: starts.length === 1 };
        if (one.isBefore === true) return { stroke: colour, width: 1, dash: [4, 4], points, alpha: 0.7 };
        return { stroke: colour, width: 2, points, ...(series.length <= 2 && { fill: translucent(colour) }) };
      }),
      ...runningSeries(drawing).map((one): uPlot.Series => {
        const colour = resolved(host, colourOf(series, series.indexOf(one)));
        return { stroke: colour, width: 2, dash: [3, 5], points: { show: false } };
      }),
    ],
    plugins: [tipPlugin(drawing), ...(drawing.onPoint === undefined ? [] : [clickPlugin(drawing, drawing.onPoint)])],
  };
}

const isWholeOrNone = (value: number | null): boolean => value === null || Number.isInteger(value);

/** Between two lines of a grid of counts, which have no fifths. */
const WHOLE_STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

const translucent = (colour: string): string =>
  colour.replace(/^rgb\((.*)\)$/, (_all, parts: string) => `rgba(${parts}, 0.08)`);

function tipPlugin({ starts, series, format, labelOf }: Drawing): uPlot.Plugin {
  const tip = document.createElement('div');
  tip.className = 'chart-tip';
  tip.hidden = true;
  return {
    hooks: {
      init: (plot) => {
        plot.over.append(tip);
      },
      setCursor: (plot) => {
        const at = plot.cursor.idx;
        const start = typeof at === 'number' ? starts[at] : undefined;
        tip.hidden = start === undefined || (plot.cursor.left ?? -1) < 0;
        if (start === undefined || typeof at !== 'number') return;
        const rows = series.map(({ name, values }) => rowOf(name, format(values[at] ?? null)));
        tip.replaceChildren(titleOf(labelOf(start)), ...rows);
        const left = plot.cursor.left ?? 0;
        const isRight = left > plot.over.clientWidth / 2;
        tip.style.transform = `translateX(${Math.round(isRight ? left - tip.offsetWidth - 12 : left + 12)}px)`;
      },
    },
  };
}

const clickPlugin = ({ series }: Drawing, onPoint: (series: number, interval: number) => void): uPlot.Plugin => ({
  hooks: {
    init: (plot) => {
      plot.over.classList.add('chart-clickable');
      plot.over.addEventListener('click', () => {
        const { idx, top = 0 } = plot.cursor;
        if (typeof idx !== 'number') return;
        const distance = (at: number): number => {
          const value = series[at]?.values[idx];
          return typeof value === 'number' ? Math.abs(plot.valToPos(value, 'y') - top) : Number.POSITIVE_INFINITY;
        };
        const nearest = series.map((_, at) => at).sort((a, b) => distance(a) - distance(b))[0];
        if (nearest !== undefined) onPoint(nearest, idx);
      });
    },
  },
});

function titleOf(text: string): HTMLElement {
  const title = document.createElement('strong');
  title.textContent = text;
  return title;
}

function rowOf(name: string, value: string): HTMLElement {
  const row = document.createElement('div');
  const [label, figure] = [document.createElement('span'), document.createElement('span')];
  label.textContent = name;
  figure.textContent = value;
  row.append(label, figure);
  return row;
}

/** The intervals that have a name below them, in seconds: as many as there is room for, at equal distances. */
function labelled({ starts, labelOf }: Drawing, widthPx: number): number[] {
  const label = GAP_PX + CHARACTER_PX * Math.max(0, ...starts.slice(0, 2).map((start) => labelOf(start).length));
  const each = Math.max(1, Math.ceil((starts.length * label) / Math.max(1, widthPx)));
  return starts.filter((_, at) => at % each === 0).map((start) => start / 1000);
}
