import type { RequestOutcome } from './answer.ts';
import type { Deliveries } from './deliveries.ts';
import { DESTINATIONS, type DestinationName } from './eligible.ts';
import type { StoredEvent } from './warehouse.ts';
import { SITE_SLOTS, type SiteSlot } from './world/event.ts';
import { FUNNEL_STEPS } from './world/funnel.ts';
import type { Ledger, SiteLedger, Totals } from './world/ledger.ts';

/** One line of the summary. The first cell is what is expected; `equal` is null where there is nothing to compare. */
export interface Row {
  label: string;
  cells: readonly number[];
  equal: boolean | null;
}

export interface Section {
  title: string;
  columns: readonly string[];
  rows: readonly Row[];
}

export interface SiteFindings {
  stored: readonly StoredEvent[];
  people: number;
  funnel: readonly number[];
}

export interface Findings {
  outcomes: readonly RequestOutcome[];
  sites: Record<SiteSlot, SiteFindings>;
  deliveries: Record<DestinationName, Deliveries>;
}

export interface Expected {
  ledger: Ledger;
  eligible: Record<SiteSlot, Record<DestinationName, ReadonlySet<string>>>;
}

function row(label: string, expected: number, ...found: number[]): Row {
  return { label, cells: [expected, ...found], equal: found.every((count) => count === expected) };
}

function sum(outcomes: readonly RequestOutcome[], of: (outcome: RequestOutcome) => number): number {
  return outcomes.reduce((total, outcome) => total + of(outcome), 0);
}

/** Events that a 200 says nothing of: bots, prefetches and blocked traffic. */
function filteredIn(outcome: RequestOutcome): number {
  if (outcome.status !== 200) return 0;
  return outcome.eventCount - outcome.accepted - outcome.rejected - outcome.dropped;
}

function refusedIn({ status, eventCount }: RequestOutcome): number {
  return status === 413 ? eventCount : 0;
}

/** What the edge answered, against what it should have. */
function compareAnswers(totals: Totals, outcomes: readonly RequestOutcome[], uniqueStored: number): Section {
  const accepted = sum(outcomes, (outcome) => outcome.accepted);
  const asPlanned = outcomes.filter((outcome) => outcome.surprise === null).length;
  return {
    title: 'What the edge answered',
    columns: ['expected', 'found'],
    rows: [
      row('requests answered as planned', totals.requests, asPlanned),
      { label: 'requests sent more than once', cells: [outcomes.filter(({ tries }) => tries > 1).length], equal: null },
      row(
        'events sent',
        totals.sent,
        sum(outcomes, ({ eventCount }) => eventCount),
      ),
      row('events accepted', totals.accepted, accepted),
      row('  of which duplicates', totals.duplicates, accepted - uniqueStored),
      row(
        'events rejected',
        totals.rejected,
        sum(outcomes, (outcome) => outcome.rejected),
      ),
      row(
        'events dropped over quota',
        totals.dropped,
        sum(outcomes, (outcome) => outcome.dropped),
      ),
      row('events filtered (bots, prefetch)', totals.filtered, sum(outcomes, filteredIn)),
      row('events in requests refused 413', totals.refused, sum(outcomes, refusedIn)),
    ],
  };
}

function countBy(events: readonly StoredEvent[], name: string): [rows: number, ids: number] {
  const named = events.filter((event) => event.name === name);
  return [named.length, new Set(named.map(({ eventId }) => eventId)).size];
}

/** Rows and different ids per event name; names that nobody sent are shown as well. */
function compareSite(slot: SiteSlot, ledger: SiteLedger, { stored }: SiteFindings): Section {
  const names = new Set([...ledger.byName.keys(), ...stored.map(({ name }) => name)]);
  const ids = new Set(stored.map(({ eventId }) => eventId));
  const missing = [...ledger.unique.keys()].filter((id) => !ids.has(id)).length;
  return {
    title: `ClickHouse, ${slot}`,
    columns: ['expected', 'rows', 'ids'],
    rows: [
      ...[...names].toSorted().map((name) => row(name, ledger.byName.get(name) ?? 0, ...countBy(stored, name))),
      row('all events', ledger.unique.size, stored.length, ids.size),
      ...(missing === 0 ? [] : [row('missing ids', 0, missing)]),
    ],
  };
}

function comparePeople(expected: Ledger, sites: Findings['sites']): Section {
  return {
    title: 'People, across devices and tills',
    columns: ['expected', 'found'],
    rows: SITE_SLOTS.map((slot) => row(slot, expected.sites[slot].people, sites[slot].people)),
  };
}

function compareFunnel(slot: SiteSlot, ledger: SiteLedger, { funnel }: SiteFindings): Section {
  return {
    title: `Funnel, ${slot}`,
    columns: ['expected', 'found'],
    rows: FUNNEL_STEPS.map((step, nth) => row(step, ledger.funnel[nth] ?? 0, funnel[nth] ?? 0)),
  };
}

/** First deliveries must be complete; repeats carry the same idempotency key, are shown, and are no fault. */
function compareDelivery(label: string, eligible: ReadonlySet<string>, deliveries: Deliveries): Row {
  const first = [...eligible].filter((id) => deliveries.has(id));
  const repeated = first.reduce((total, id) => total + (deliveries.get(id)?.times ?? 1) - 1, 0);
  return { label, cells: [eligible.size, first.length, repeated], equal: first.length === eligible.size };
}

/** What must not be at all, and is shown only where it is: deliveries that were not due, and events that counted twice. */
function compareStrays(name: DestinationName, due: ReadonlySet<string>, deliveries: Deliveries): Row[] {
  const stray = [...deliveries.keys()].filter((id) => !due.has(id)).length;
  const again = [...deliveries.values()].reduce((total, { effects }) => total + effects - 1, 0);
  return [
    ...(stray === 0 ? [] : [row(`${name}, not due`, 0, stray)]),
    ...(again === 0 ? [] : [row(`${name}, counted again`, 0, again)]),
  ];
}

/** @param deliveries of this run only */
function compareDeliveries(eligible: Expected['eligible'], deliveries: Findings['deliveries']): Section {
  const rows = DESTINATIONS.flatMap((name) =>
    SITE_SLOTS.map((slot) => compareDelivery(`${name}, ${slot}`, eligible[slot][name], deliveries[name])),
  );
  const strays = DESTINATIONS.flatMap((name) => {
    const due = new Set(SITE_SLOTS.flatMap((slot) => [...eligible[slot][name]]));
    return compareStrays(name, due, deliveries[name]);
  });
  return { title: 'Deliveries', columns: ['expected', 'first', 'repeated'], rows: [...rows, ...strays] };
}

/** The whole summary, in the order printed. */
export function compare(expected: Expected, findings: Findings): Section[] {
  const { ledger } = expected;
  const stored = SITE_SLOTS.flatMap((slot) => findings.sites[slot].stored.map(({ eventId }) => `${slot}/${eventId}`));
  return [
    compareAnswers(ledger.totals, findings.outcomes, new Set(stored).size),
    ...SITE_SLOTS.map((slot) => compareSite(slot, ledger.sites[slot], findings.sites[slot])),
    compareDeliveries(expected.eligible, findings.deliveries),
    comparePeople(ledger, findings.sites),
    ...SITE_SLOTS.map((slot) => compareFunnel(slot, ledger.sites[slot], findings.sites[slot])),
  ];
}

export function countDiffering(sections: readonly Section[]): number {
  return sections.flatMap(({ rows }) => rows).filter(({ equal }) => equal === false).length;
}
