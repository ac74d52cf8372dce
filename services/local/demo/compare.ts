import type { FunnelAnswer } from '#pipelines/query/funnel_answer.ts';
import type { Deliveries } from './deliveries.ts';
import { DESTINATIONS, type DestinationName } from './due.ts';
import type { RequestOutcome } from './judge_reply.ts';
import type { Stored } from './stored.ts';
import type { Ledger, Totals } from './world/day_ledger.ts';
import { SITE_SLOTS, type SiteSlot } from './world/demo_event.ts';
import { FUNNEL_STEPS } from './world/demo_funnel.ts';

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

/** Events that a 200 says nothing of: bots, prefetches and blocked traffic. */
function filteredIn({ status, eventCount, accepted, rejected, dropped }: RequestOutcome): number {
  return status === 200 ? eventCount - accepted - rejected - dropped : 0;
}

/** What the edge answered, against what it should have. */
function compareAnswers(totals: Totals, outcomes: readonly RequestOutcome[], stored: number): Section {
  const sum = (of: (outcome: RequestOutcome) => number): number => outcomes.reduce((all, one) => all + of(one), 0);
  const accepted = sum((one) => one.accepted);
  const planned = sum(({ surprise }) => Number(surprise === null));
  return {
    title: 'What the edge answered',
    columns: COLUMNS,
    rows: [
      row('requests answered as planned', totals.requests, planned),
      { label: 'requests sent more than once', cells: [sum(({ tries }) => Number(tries > 1))], equal: null },
      row(
        'events sent',
        totals.sent,
        sum((one) => one.eventCount),
      ),
      row('events accepted', totals.accepted, accepted),
      row('  of which duplicates', totals.duplicates, accepted - stored),
      row(
        'events rejected',
        totals.rejected,
        sum((one) => one.rejected),
      ),
      row(
        'events dropped over quota',
        totals.dropped,
        sum((one) => one.dropped),
      ),
      row('events filtered (bots, prefetch)', totals.filtered, sum(filteredIn)),
      row(
        'events in requests refused 413',
        totals.refused,
        sum((one) => (one.status === 413 ? one.eventCount : 0)),
      ),
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
  return [row(`${name}, not due`, 0, unexpected), row(`${name}, counted again`, 0, again)].filter(
    ({ equal }) => !equal,
  );
}

/** The whole summary, in the order printed. */
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
