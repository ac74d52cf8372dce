import type { FunnelAnswer, FunnelStep } from '#pipelines/analytics/funnels/query.ts';
import { renderNumber, renderTable } from '#services/stage/terminal.ts';
import { DESTINATIONS, type Deliveries, type DestinationName, type Stored } from './read_results.ts';
import type { RequestOutcome } from './send_requests.ts';
import { FUNNEL_STEPS, type Ledger } from './world/day_ledger.ts';
import { SITE_SLOTS, type SiteSlot } from './world/demo_event.ts';

/** One line of the summary. The first cell is what is expected; `equal` is null where there is nothing to compare. */
interface Row {
  label: string;
  cells: readonly number[];
  equal: boolean | null;
}

export interface Section {
  title: string;
  columns: readonly string[];
  rows: readonly Row[];
}

export interface Findings {
  outcomes: readonly RequestOutcome[];
  sites: Record<SiteSlot, Stored & { funnel: FunnelAnswer }>;
  deliveries: Record<DestinationName, Deliveries>;
}

export interface Expected {
  ledger: Ledger;
  due: Record<SiteSlot, Record<DestinationName, ReadonlySet<string>>>;
}

const COLUMNS = ['expected', 'found'];

function row(label: string, expected: number, found: number): Row {
  return { label, cells: [expected, found], equal: found === expected };
}

/** What the edge answered, against what it should have. */
function compareAnswers(totals: Ledger['totals'], outcomes: readonly RequestOutcome[], stored: number): Section {
  const sum = (of: (outcome: RequestOutcome) => number): number => outcomes.reduce((all, one) => all + of(one), 0);
  const sumOf = (name: 'eventCount' | 'accepted' | 'rejected' | 'dropped'): number => sum((one) => one[name]);
  const sentWith = (status: number): number => sum((one) => (one.status === status ? one.eventCount : 0));
  const answered = outcomes.filter(({ status }) => status === 200);
  const told = answered.reduce((all, { accepted, rejected, dropped }) => all + accepted + rejected + dropped, 0);
  return {
    title: 'Edge responses',
    columns: COLUMNS,
    rows: [
      row('responses as expected', totals.requests, outcomes.filter(({ surprise }) => surprise === null).length),
      { label: 'requests sent more than once', cells: [outcomes.filter(({ tries }) => tries > 1).length], equal: null },
      row('events sent', totals.sent, sumOf('eventCount')),
      row('events accepted', totals.accepted, sumOf('accepted')),
      row('  of which duplicates', totals.duplicates, sumOf('accepted') - stored),
      row('events rejected', totals.rejected, sumOf('rejected')),
      row('events dropped over quota', totals.dropped, sumOf('dropped')),
      // A 200 says nothing of them.
      row('events filtered (bots, prefetch)', totals.filtered, sentWith(200) - told),
      row('events in requests refused 413', totals.refused, sentWith(413)),
    ],
  };
}

/** Events by name; names that nobody sent are shown as well. */
function compareSite(slot: SiteSlot, { ledger }: Expected, { byName, events }: Stored): Section {
  const { byName: sent, unique } = ledger.sites[slot];
  const names = [...new Set([...sent.keys(), ...byName.keys()])].toSorted();
  return {
    title: `Stored, ${slot}`,
    columns: COLUMNS,
    rows: [
      ...names.map((name) => row(name, sent.get(name) ?? 0, byName.get(name) ?? 0)),
      row('all events', unique.size, events),
    ],
  };
}

/** First deliveries must be complete; repeats carry the same idempotency key, are shown, and are no fault. */
function compareDelivery(label: string, due: ReadonlySet<string>, deliveries: Deliveries): Row {
  const first = [...due].filter((id) => deliveries.has(id));
  const repeated = first.reduce((total, id) => total + (deliveries.get(id)?.times ?? 1) - 1, 0);
  return { label, cells: [due.size, first.length, repeated], equal: first.length === due.size };
}

/** What must not be at all, and is shown only where it is: deliveries that were not due, and events that counted twice. */
function compareStrays(name: DestinationName, { due }: Expected, deliveries: Deliveries): Row[] {
  const unexpected = [...deliveries.keys()].filter((id) => SITE_SLOTS.every((slot) => !due[slot][name].has(id))).length;
  const again = [...deliveries.values()].reduce((total, { effects }) => total + effects - 1, 0);
  return [row(`${name}, unexpected`, 0, unexpected), row(`${name}, counted twice`, 0, again)].filter(
    ({ equal }) => !equal,
  );
}

export function compare(expected: Expected, { outcomes, sites, deliveries }: Findings): Section[] {
  const { ledger, due } = expected;
  const perSite = (of: (slot: SiteSlot) => Section): Section[] => SITE_SLOTS.map(of);
  const sent = DESTINATIONS.flatMap((name) =>
    SITE_SLOTS.map((slot) => compareDelivery(`${name}, ${slot}`, due[slot][name], deliveries[name])),
  );
  const strays = DESTINATIONS.flatMap((name) => compareStrays(name, expected, deliveries[name]));
  return [
    compareAnswers(ledger.totals, outcomes, sites.shop.events + sites.travel.events),
    ...perSite((slot) => compareSite(slot, expected, sites[slot])),
    { title: 'Deliveries', columns: ['expected', 'first', 'repeated'], rows: [...sent, ...strays] },
    {
      title: 'People, across devices and tills',
      columns: COLUMNS,
      rows: SITE_SLOTS.map((slot) => row(slot, ledger.sites[slot].people, sites[slot].people)),
    },
    ...perSite((slot) => ({
      title: `Funnel, ${slot}`,
      columns: COLUMNS,
      rows: FUNNEL_STEPS.map((step, nth) =>
        row(step, ledger.sites[slot].funnel[nth] ?? 0, sites[slot].funnel.steps[nth]?.reached ?? 0),
      ),
    })),
  ];
}

export function countDiffering(sections: readonly Section[]): number {
  return sections.flatMap(({ rows }) => rows).filter(({ equal }) => equal === false).length;
}

const LABEL_WIDTH = 34;
const CELL_WIDTH = 9;
const SURPRISES_SHOWN = 5;

function cellsOf({ label, cells, equal }: Row, columns: number): string[] {
  const numbers = Array.from({ length: columns }, (_, nth) => {
    const cell = cells[nth];
    return (cell === undefined ? '' : renderNumber(cell)).padStart(CELL_WIDTH);
  });
  const verdict = equal === null ? '' : equal ? 'equal' : 'DIFFERS';
  return [`  ${label.slice(0, LABEL_WIDTH - 2)}`.padEnd(LABEL_WIDTH), ...numbers, verdict];
}

/** A section as a table of at most 80 columns; what a row has no cell for is left empty. */
export function drawSection({ title, columns, rows }: Section): string {
  const headings = [title, ...columns.map((column) => column.padStart(CELL_WIDTH)), ''];
  return `${renderTable(
    headings,
    rows.map((row) => cellsOf(row, columns.length)),
    '',
  )}\n`;
}

/** The answers that were not as planned, the commonest first. */
export function drawSurprises(outcomes: Findings['outcomes']): string[] {
  const surprises = outcomes.flatMap(({ surprise }) => (surprise === null ? [] : [surprise]));
  const groups = [...Map.groupBy(surprises, (text) => text)].toSorted(([, a], [, b]) => b.length - a.length);
  if (groups.length === 0) return [];
  const lines = groups.slice(0, SURPRISES_SHOWN).map(([text, times]) => `  ${times.length} × ${text}`);
  return ['Unexpected responses', ...lines, ''];
}

/** `every count equal`, or how many are not. */
export function closingLine(sections: readonly Section[]): string {
  const differing = countDiffering(sections);
  if (differing === 0) return 'every count equal';
  return differing === 1 ? '1 count differs' : `${differing} counts differ`;
}

export function drawSummary({ outcomes, sites }: Findings, sections: readonly Section[], coloured: boolean): string {
  const funnels = SITE_SLOTS.map((slot) =>
    drawFunnel(`${slot}: from page to purchase, by person`, FUNNEL_STEPS, sites[slot].funnel.steps),
  );
  const parts = [...sections.map(drawSection), ...drawSurprises(outcomes), closingLine(sections)];
  const text = [...parts, '', funnels.join('\n\n'), ''].join('\n');
  if (!coloured) return text;
  return text
    .replaceAll(/equal$/gm, '\u001b[32m$&\u001b[0m')
    .replaceAll(/DIFFERS$|\d+ counts? differs?$/gm, '\u001b[31m$&\u001b[0m');
}

const BAR_WIDTH = 28;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** A bar of `share` times BAR_WIDTH columns, to an eighth of a column; what is not nothing is at least a sliver. */
function bar(share: number): string {
  const eighths = Math.round(Math.min(Math.max(share, 0), 1) * BAR_WIDTH * 8);
  const drawn = share > 0 ? Math.max(eighths, 1) : 0;
  return ('█'.repeat(Math.floor(drawn / 8)) + (EIGHTHS[drawn % 8] ?? '')).padEnd(BAR_WIDTH);
}

/** A funnel for the terminal: a bar for each step. */
function drawFunnel(title: string, names: readonly string[], steps: readonly FunnelStep[]): string {
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
  return [title, '', head, ...lines].join('\n');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
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
