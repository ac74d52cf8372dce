// Tables, times and funnels for a terminal; secrets of ready.json hidden.
import type { FunnelAnswer, FunnelStep } from '#pipelines/analytics/funnels/query.ts';

/** Rows under headings in aligned columns, without trailing spaces; the note when there are no rows. */
export function renderTable(headings: string[], rows: string[][], noteWhenEmpty: string): string {
  if (rows.length === 0) return noteWhenEmpty;
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A time in UTC, to the second; `never` for null. */
export function renderTime(timeMs: number | null): string {
  return timeMs === null ? 'never' : `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}

/** A list in one cell. */
export function renderList(items: readonly string[], whenEmpty = '-'): string {
  return items.length === 0 ? whenEmpty : items.join(',');
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 });

/** `12345.5` as `12,345.5`. */
export function renderNumber(value: number): string {
  return NUMBERS.format(value);
}

const VALUE_CHARACTERS_MAX = 60;

/** A text that somebody sent, in one cell: without what terminals obey, and not too long; `-` where there is none. */
export function renderValue(text: string): string {
  const line = text.replace(/\p{C}+/gu, ' ').trim();
  if (line === '') return '-';
  return line.length > VALUE_CHARACTERS_MAX ? `${line.slice(0, VALUE_CHARACTERS_MAX - 1)}…` : line;
}

/** Messages may repeat what was typed, line breaks and terminal codes included. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}

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

/** Names of values in ready.json that are secrets as a whole. */
const SECRET_NAME = /^(?:serverKey|password|secret|token)$/;

/**
 * The facts of ready.json as they may stand in a log: in place of each secret it says where it is. The standard output of a
 * service is kept by whatever runs it, where more people read than may read ready.json.
 */
export function withoutSecrets<T>(facts: T, file: string): T {
  return hidden(facts, '', `(in ${file})`) as T;
}

function hidden(value: unknown, name: string, instead: string): unknown {
  if (Array.isArray(value)) return value.map((one) => hidden(one, name, instead));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hidden(one, key, instead)]));
  }
  if (typeof value !== 'string') return value;
  if (SECRET_NAME.test(name)) return instead;
  const url = URL.canParse(value) ? new URL(value) : null;
  return url === null || url.password === '' ? value : value.replace(`:${url.password}@`, `:${instead}@`);
}
