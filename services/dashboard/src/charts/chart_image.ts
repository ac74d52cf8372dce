import { saveFile } from '../ui/data_table.tsx';
import { colourOf, type Series } from './chart_table.tsx';
import { AXIS_FONT_PX, resolved } from './uplot_chart.ts';

const LINE_PX = 18;
const MARGIN_PX = 12;

/** Saves a drawn chart as it stands, with a title and the names of its lines above it. Where the browser makes no image, nothing. */
export async function saveChart(
  host: HTMLElement,
  series: readonly Series[],
  title: string,
  name: string,
): Promise<void> {
  const chart = host.querySelector('canvas');
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d');
  if (chart === null || context === null) return;
  const scale = chart.width / chart.clientWidth;
  const headPx = MARGIN_PX + LINE_PX * (1 + series.length);
  canvas.width = chart.width + 2 * MARGIN_PX * scale;
  canvas.height = chart.height + (headPx + MARGIN_PX) * scale;
  context.fillStyle = resolved(host, '--surface');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.font = `${(AXIS_FONT_PX + 2) * scale}px ${getComputedStyle(host).fontFamily}`;
  const write = (text: string, line: number, colour: string): void => {
    context.fillStyle = resolved(host, colour);
    context.fillText(text, MARGIN_PX * scale, (MARGIN_PX + LINE_PX * (line + 0.7)) * scale);
  };
  write(title, 0, '--text');
  for (const [at, line] of series.entries()) write(`— ${line.name}`, at + 1, colourOf(series, at));
  context.drawImage(chart, MARGIN_PX * scale, headPx * scale);
  const image = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (image !== null) saveFile(image, `${name}.png`);
}
