import { request } from 'undici';
import type { Filter } from '#pipelines/analytics/filters.ts';
import type { FunnelAnswer, FunnelQuery, FunnelStep } from '#pipelines/analytics/funnels/query.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import { renderNumber, renderTable } from '#services/stage/terminal.ts';
import type { LedgerEntry, LedgerPage } from '../platforms/standin.ts';
import { DemoError } from './config.ts';
import type { RequestOutcome } from './send_requests.ts';
import { SITE_SLOTS, type SiteSlot, type WorldEvent } from './world/demo_event.ts';
import { FUNNEL_STEPS, FUNNEL_WINDOW_MS, type Ledger } from './world/demo_world.ts';

const PAGE_ENTRIES = 5_000;

/** What a stand-in did with one event: how often it accepted it, and how often that had an effect. */
export type Delivery = Pick<LedgerEntry, 'times' | 'effects'>;

/** Deliveries by event id. */
type Deliveries = ReadonlyMap<string, Delivery>;

async function readPage(standin: string, cursor: number): Promise<LedgerPage> {
  const url = new URL(`/_standin/ledger?cursor=${cursor}&limit=${PAGE_ENTRIES}`, standin);
  const { statusCode, body } = await request(url);
  if (statusCode === 200) return (await body.json()) as LedgerPage;
  await body.dump();
  throw new DemoError('standin_unreadable', `${url.origin}${url.pathname} answered ${statusCode} with no ledger`);
}

/**
 * Reads a stand-in's ledger, which is in the order of first acceptance and holds other runs as well.
 *
 * @param idPrefix what every event id of the run begins with
 */
export function createDeliveryReader(standin: string, idPrefix: string) {
  const seen = new Set<string>();
  /** How far the ledger has been counted, and how far it held nothing of the run. */
  let counted = 0;
  let before: number | null = null;

  async function* entriesFrom(start: number): AsyncGenerator<LedgerEntry[]> {
    for (let at: number | null = start; at !== null; ) {
      const page: LedgerPage = await readPage(standin, at);
      counted = Math.max(counted, at + page.events.length);
      const ours = page.events.filter(({ event_id }) => event_id.startsWith(idPrefix));
      if (ours.length > 0) before ??= at;
      yield ours;
      at = page.next_cursor;
    }
  }

  return {
    /** How many events of the run have been delivered; reads only what the ledger has got since the last call. */
    async count(): Promise<number> {
      for await (const entries of entriesFrom(counted)) for (const { event_id } of entries) seen.add(event_id);
      return seen.size;
    },
    /** Every delivery of the run, read anew. */
    async list(): Promise<Deliveries> {
      const deliveries = new Map<string, Delivery>();
      for await (const entries of entriesFrom(before ?? 0)) {
        for (const { event_id, times, effects } of entries) {
          const known = deliveries.get(event_id) ?? { times: 0, effects: 0 };
          deliveries.set(event_id, { times: known.times + times, effects: known.effects + effects });
        }
      }
      return deliveries;
    },
  };
}

export const DESTINATIONS = ['meta', 'webhook'] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

const DAY_MS = 86_400_000;

/**
 * The ids of the events that a destination must get. A webhook gets everything; Meta takes no event older than 7 days, but
 * of a physical store 62. Every event of the demo has an identifier and properties that Meta wants.
 *
 * @param nowMs when the events are sent, milliseconds since 1970 UTC
 */
export function dueIds(destination: DestinationName, events: Iterable<WorldEvent>, nowMs: number): Set<string> {
  const isDue = ({ at, actionSource }: WorldEvent): boolean =>
    destination === 'webhook' || nowMs - at <= (actionSource === 'physical_store' ? 62 : 7) * DAY_MS;
  return new Set([...events].filter(isDue).map(({ eventId }) => eventId));
}

/** What the query API finds of the run at one site. */
interface Stored {
  events: number;
  people: number;
  byName: ReadonlyMap<string, number>;
}

/** Which events of a site are the run's: what every event id of the run begins with, and when they happened. */
export interface Scope {
  site: string;
  idPrefix: string;
  /** The end of the day played, milliseconds since 1970 UTC; some events happened days before it. */
  endsAt: number;
}
const DAYS = 31;

function within({ idPrefix, endsAt }: Scope) {
  const ofRun: Filter = { field: { column: 'event_id' }, is: 'starting_with', to: idPrefix };
  return { from: endsAt - DAYS * DAY_MS, to: endsAt + DAY_MS, filters: [ofRun], fresh: true };
}

/** Asks for the events and people of the run, as they stand now. @throws ControlUnavailableError */
export async function askStored(client: ControlClient, scope: Scope): Promise<Stored> {
  const breakdown = { field: { column: 'event' as const } };
  const query: TrendsQuery = { ...within(scope), interval: 'month', series: [{}], breakdown };
  const [all] = (await client.query<TrendsAnswer>(scope.site, 'trends', query)).series;
  const byName = (all?.breakdown ?? []).map(({ value, events }) => [value, events] as const);
  return { events: all?.events ?? 0, people: all?.persons ?? 0, byName: new Map(byName) };
}

/** Asks for the people who reached each of FUNNEL_STEPS. @throws ControlUnavailableError */
export function askFunnel(client: ControlClient, scope: Scope): Promise<FunnelAnswer> {
  const steps = FUNNEL_STEPS.map((name) => ({ events: [name] }));
  const query: FunnelQuery = { ...within(scope), steps, window_ms: FUNNEL_WINDOW_MS };
  return client.query<FunnelAnswer>(scope.site, 'funnel', query);
}

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
