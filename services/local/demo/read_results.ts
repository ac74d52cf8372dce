// What the service stored and delivered of the demo.

import { request } from 'undici';
import type { Filter } from '#pipelines/analytics/filters.ts';
import type { FunnelAnswer, FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import type { LedgerEntry, LedgerPage } from '../platforms/acceptance_ledger.ts';
import { DemoError } from './config.ts';
import { FUNNEL_STEPS, FUNNEL_WINDOW_MS } from './world/day_ledger.ts';
import type { WorldEvent } from './world/demo_event.ts';

const PAGE_ENTRIES = 5_000;

/** What a stand-in did with one event: how often it accepted it, and how often that had an effect. */
export type Delivery = Pick<LedgerEntry, 'times' | 'effects'>;

/** Deliveries by event id. */
export type Deliveries = ReadonlyMap<string, Delivery>;

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
export interface Stored {
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
