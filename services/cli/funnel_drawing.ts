import type { FunnelAnswer, FunnelStep } from '#pipelines/query/funnel_answer.ts';
import { bar, number } from '#services/terminal_style.ts';
import { oneLine, renderTable } from './render.ts';

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
  const head = `     ${'STEP'.padEnd(width)}  ${''.padEnd(28)}${'REACHED'.padStart(11)}${'OF FIRST'.padStart(10)}${'OF PREV.'.padStart(10)}   MEDIAN TIME`;
  const lines = steps.map((step, index) =>
    [
      `  ${String(index + 1).padStart(2)} ${(names[index] ?? '').padEnd(width)}  ${bar(step.of_first)}`,
      number(step.reached).padStart(11),
      percent(step.of_first).padStart(10),
      percent(step.of_previous).padStart(10),
      index === 0 ? '' : `   ${duration(step.time_ms?.median)}`,
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
    ...group.steps.map(({ reached }) => number(reached)),
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

/** A funnel as CSV (RFC 4180): a row for each step of everything, of each value and of each interval. */
export function funnelCsv(names: readonly string[], answer: FunnelAnswer): string {
  const rows = [
    ...csvRows('all', '', names, answer.steps),
    ...answer.breakdown.flatMap(({ value, steps }) => csvRows('value', value, names, steps)),
    ...(answer.other === null ? [] : csvRows('other', '', names, answer.other.steps)),
    ...answer.trend.flatMap(({ from, steps }) => csvRows('interval', new Date(from).toISOString(), names, steps)),
  ];
  const head = [
    'group',
    'value',
    'step',
    'name',
    'reached',
    'of_first',
    'of_previous',
    'median_ms',
    'p90_ms',
    'average_ms',
  ];
  return [head, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n');
}

function csvRows(group: string, value: string, names: readonly string[], steps: readonly FunnelStep[]): Cell[][] {
  return steps.map(({ reached, of_first, of_previous, time_ms }, index) => [
    group,
    value,
    index + 1,
    names[index],
    reached,
    of_first,
    of_previous,
    time_ms?.median,
    time_ms?.p90,
    time_ms?.average,
  ]);
}

type Cell = string | number | undefined;

function csvCell(value: Cell): string {
  const text = value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
