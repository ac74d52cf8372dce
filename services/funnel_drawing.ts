import type { FunnelAnswer, FunnelStep } from '#pipelines/query/funnel_answer.ts';
import { oneLine, renderNumber, renderTable } from './render.ts';

const BAR_WIDTH = 28;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** A bar of `share` times BAR_WIDTH columns, to an eighth of a column; what is not nothing is at least a sliver. */
function bar(share: number): string {
  const eighths = Math.round(Math.min(Math.max(share, 0), 1) * BAR_WIDTH * 8);
  const drawn = share > 0 ? Math.max(eighths, 1) : 0;
  return ('█'.repeat(Math.floor(drawn / 8)) + (EIGHTHS[drawn % 8] ?? '')).padEnd(BAR_WIDTH);
}

/** A funnel for the terminal: a bar for each step, then its breakdown and trend where they were asked for. */
export function drawFunnel(title: string, names: readonly string[], answer: FunnelAnswer): string {
  const sections = [[title, '', stepTable(names, answer.steps)].join('\n')];
  if (answer.breakdown.length > 0) sections.push(groupTable('VALUE', names, valuesOf(answer), ({ name }) => name));
  if (answer.trend.length > 0) sections.push(groupTable('FROM', names, answer.trend, ({ from }) => time(from)));
  return sections.join('\n\n');
}

function valuesOf({ breakdown, other }: FunnelAnswer): { name: string; steps: FunnelStep[] }[] {
  const values = breakdown.map(({ value, steps }) => ({ name: oneLine(value) || '-', steps }));
  return other === null ? values : [...values, { name: `(${other.values} others)`, steps: other.steps }];
}

function stepTable(names: readonly string[], steps: readonly FunnelStep[]): string {
  const width = Math.max(...names.map((name) => name.length), 4);
  const head = `     ${'STEP'.padEnd(width)}  ${''.padEnd(BAR_WIDTH)}${'REACHED'.padStart(11)}${'OF FIRST'.padStart(10)}${'OF PREV.'.padStart(10)}   MEDIAN TIME, FROM PREV.`;
  const lines = steps.map((step, index) =>
    [
      `  ${String(index + 1).padStart(2)} ${(names[index] ?? '').padEnd(width)}  ${bar(step.of_first)}`,
      renderNumber(step.reached).padStart(11),
      percent(step.of_first).padStart(10),
      percent(step.of_previous).padStart(10),
      index === 0 ? '' : `   ${duration(step.time_ms?.median).padEnd(11)}  ${duration(step.between_ms?.median)}`,
    ]
      .join('')
      .trimEnd(),
  );
  return [head, ...lines].join('\n');
}

function groupTable<Group extends { steps: FunnelStep[] }>(
  heading: string,
  names: readonly string[],
  groups: readonly Group[],
  nameOf: (group: Group) => string,
): string {
  const rows = groups.map((group) => [
    nameOf(group),
    ...group.steps.map(({ reached }) => renderNumber(reached)),
    percent(group.steps.at(-1)?.of_first ?? 0),
  ]);
  return renderTable([heading, ...names.map((name) => name.toUpperCase()), 'CONVERTED'], rows, '');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function time(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T00:00', '');
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** A length of time in its greatest unit, `1.5 d`; `-` for none. */
function duration(ms: number | undefined): string {
  if (ms === undefined) return '-';
  const [unitMs, unit] = UNITS.find(([length]) => ms >= length) ?? [1, 'ms'];
  return `${(ms / unitMs).toFixed(unit === 'ms' ? 0 : 1)} ${unit}`;
}
