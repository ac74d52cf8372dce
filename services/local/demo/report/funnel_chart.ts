import { BAR_WIDTH, bar, number, type Style } from '#services/terminal_style.ts';

function percent(part: number, whole: number | undefined): string {
  return whole === undefined || whole === 0 ? '' : `${((part / whole) * 100).toFixed(1)} %`;
}

export interface FunnelDrawing {
  title: string;
  steps: readonly string[];
  /** People per step, as found and as the ledger has it. */
  found: readonly number[];
  expected: readonly number[];
}

function drawStep({ steps, found, expected }: FunnelDrawing, nth: number, style: Style): string {
  const people = found[nth] ?? 0;
  const due = expected[nth] ?? 0;
  const mark = people === due ? style.good(number(due).padStart(8)) : style.bad(number(due).padStart(8));
  return [
    `  ${(steps[nth] ?? '').padEnd(15)}`,
    bar(people / Math.max(found[0] ?? 0, 1)),
    number(people).padStart(8),
    percent(people, found[0]).padStart(9),
    percent(people, found[nth - 1]).padStart(9),
    mark,
  ].join('');
}

/** The funnel as lines of at most 80 columns: bar, people, share of the first step, share of the step before, ledger. */
export function drawFunnel(drawing: FunnelDrawing, style: Style): string[] {
  const heads = ['people'.padStart(8), 'of first'.padStart(9), 'of prev.'.padStart(9), 'ledger'.padStart(8)].join('');
  return [
    `${style.strong(drawing.title.padEnd(17 + BAR_WIDTH))}${style.faint(heads)}`,
    ...drawing.steps.map((_, nth) => drawStep(drawing, nth, style)),
    '',
  ];
}
