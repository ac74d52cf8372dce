import type { Filter } from '#pipelines/query/filter_shapes.ts';
import type { FunnelAnswer } from '#pipelines/query/funnel_answer.ts';
import type { FunnelQuery, TrendsQuery } from '#pipelines/query/shapes.ts';
import type { TrendsAnswer } from '#pipelines/query/trends_answer.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import { FUNNEL_STEPS, FUNNEL_WINDOW_MS } from './world/demo_funnel.ts';

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

const DAY_MS = 86_400_000;
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
