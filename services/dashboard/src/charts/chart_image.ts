import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import { saveCsv, saveFile } from '../ui/data_table.tsx';
import { AXIS_FONT_PX, colourOf, resolved, type Series } from './chart_table.tsx';

/** A chart that no canvas shows, in pixels from its corner. Colours are properties of the styles. */
export interface Picture {
  width: number;
  height: number;
  shapes: readonly Shape[];
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export type Shape =
  | (Box & { kind: 'box'; fill: string; opacity?: number })
  /** The outline of an SVG path. */
  | { kind: 'path'; path: string; fill: string; opacity?: number }
  /** In the middle of its box's height, and no wider than that. */
  | (Box & { kind: 'text'; text: string; colour?: string; align?: 'end' });

/** Saves the numbers of a chart for a spreadsheet. */
export const saveNumbers = (name: string, table: AnswerTable): void => saveCsv(name, table);

const LINE_PX = 18;
const MARGIN_PX = 12;
const FONT_PX = AXIS_FONT_PX + 2;
/** Screens that show a pixel of the page by four are many. */
const SCALE = 2;
/** Browsers make no longer side. */
const SIDE_MAX = 8_192;

/** Saves a drawn chart as it stands, with a title and the names of its lines above it. */
export async function saveChart(
  host: HTMLElement,
  series: readonly Series[],
  title: string,
  name: string,
): Promise<void> {
  const chart = host.querySelector('canvas');
  if (chart === null) return;
  const { width: pixels, clientWidth: width, clientHeight: height } = chart;
  const heads = series.map((line, at) => ({
    text: `${line.isBefore === true ? '- -' : '—'} ${line.name}`,
    colour: colourOf(series, at),
  }));
  await save({ host, title, heads, width, height, scale: pixels / width, name }, (context) =>
    context.drawImage(chart, 0, 0, width, height),
  );
}

/** Saves a picture with a title above it. */
export async function savePicture({ width, height, shapes }: Picture, title: string, name: string): Promise<void> {
  const host = document.body;
  const scale = Math.min(SCALE, SIDE_MAX / Math.max(width, height));
  await save({ host, title, heads: [], width, height, scale, name }, (context) => {
    for (const shape of shapes) draw(context, shape, host);
  });
}

interface Saved {
  host: HTMLElement;
  title: string;
  /** Lines below the title. */
  heads: readonly { text: string; colour: string }[];
  width: number;
  height: number;
  /** Pixels of the image for one of the page. */
  scale: number;
  name: string;
}

/** Where the browser makes no image, nothing is saved. */
async function save(saved: Saved, content: (context: CanvasRenderingContext2D) => void): Promise<void> {
  const { host, title, heads, width, height, scale, name } = saved;
  const headPx = MARGIN_PX + LINE_PX * (1 + heads.length);
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d');
  if (context === null) return;
  canvas.width = Math.round((width + 2 * MARGIN_PX) * scale);
  canvas.height = Math.round((height + headPx + MARGIN_PX) * scale);
  context.scale(scale, scale);
  context.fillStyle = resolved(host, '--surface');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.font = `${FONT_PX}px ${getComputedStyle(host).fontFamily}`;
  context.textBaseline = 'middle';
  for (const [line, { text, colour }] of [{ text: title, colour: '--text' }, ...heads].entries()) {
    context.fillStyle = resolved(host, colour);
    context.fillText(cut(context, text, width), MARGIN_PX, MARGIN_PX + LINE_PX * (line + 0.5));
  }
  context.translate(MARGIN_PX, headPx);
  content(context);
  const image = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (image !== null) saveFile(image, `${name}.png`);
}

function draw(context: CanvasRenderingContext2D, shape: Shape, host: HTMLElement): void {
  if (shape.kind === 'text') {
    const { x, y, width, height, text, colour = '--text', align } = shape;
    context.fillStyle = resolved(host, colour);
    context.textAlign = align ?? 'start';
    context.fillText(cut(context, text, width), align === 'end' ? x + width : x, y + height / 2);
    return;
  }
  context.globalAlpha = shape.opacity ?? 1;
  context.fillStyle = resolved(host, shape.fill);
  if (shape.kind === 'path') context.fill(new Path2D(shape.path));
  else context.fillRect(shape.x, shape.y, shape.width, shape.height);
  context.globalAlpha = 1;
}

/** A text with as much of its end left out as there is no room for. */
function cut(context: CanvasRenderingContext2D, text: string, widthPx: number): string {
  if (context.measureText(text).width <= widthPx) return text;
  const signs = Array.from(text);
  while (signs.length > 1 && context.measureText(`${signs.join('')}…`).width > widthPx) signs.pop();
  return `${signs.join('')}…`;
}

interface BarRow {
  name: string;
  /** Of the whole width. */
  share: number;
  /** What stands behind the bar. */
  text: string;
}

const ROW_PX = 28;
const NAME_PX = 240;
const BAR_PX = 320;
const TEXT_PX = 280;
const GAP_PX = 12;

/** Bars below each other. */
export const barsPicture = (rows: readonly BarRow[]): Picture => ({
  width: NAME_PX + BAR_PX + TEXT_PX + 2 * GAP_PX,
  height: rows.length * ROW_PX,
  shapes: rows.flatMap(({ name, share, text }, at): Shape[] => {
    const bar = { kind: 'box', x: NAME_PX + GAP_PX, y: at * ROW_PX + 4, width: BAR_PX, height: ROW_PX - 8 } as const;
    const line = { kind: 'text', y: at * ROW_PX, height: ROW_PX } as const;
    return [
      { ...line, text: name, x: 0, width: NAME_PX },
      { ...bar, fill: '--sunken' },
      { ...bar, width: share * BAR_PX, fill: '--accent', opacity: 0.85 },
      { ...line, text, x: NAME_PX + BAR_PX + 2 * GAP_PX, width: TEXT_PX },
    ];
  }),
});

export interface GridCell {
  text: string;
  /** How strong its colour is, of 1. */
  heat?: number;
}

const FIRST_PX = 140;
const CELL_PX = 68;

/** A table of which cells have colours; the first column is wider, and begins where the others end. */
export const gridPicture = (rows: readonly (readonly GridCell[])[]): Picture => ({
  width: FIRST_PX + CELL_PX * Math.max(0, ...rows.map(({ length }) => length - 1)),
  height: rows.length * ROW_PX,
  shapes: rows.flatMap((cells, row) =>
    cells.flatMap(({ text, heat }, column): Shape[] => {
      const place = { y: row * ROW_PX, height: ROW_PX };
      if (column === 0) return [{ kind: 'text', text, x: 0, width: FIRST_PX, ...place }];
      const x = FIRST_PX + (column - 1) * CELL_PX;
      const box: Shape[] =
        heat === undefined ? [] : [{ kind: 'box', x, width: CELL_PX, ...place, fill: '--accent', opacity: heat }];
      return [...box, { kind: 'text', text, x: x + 4, width: CELL_PX - 8, ...place, align: 'end' }];
    }),
  ),
});
