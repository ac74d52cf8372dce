import type { Field } from './filter_shapes.ts';
import { type Scope, scopeOf } from './scope.ts';
import type { FunnelQuery, Interval, Selection } from './shapes.ts';

/** Upper ends of the classes of the time from the first step to the last. */
export const TIME_CLASSES_MS = [
  60_000,
  10 * 60_000,
  3_600_000,
  6 * 3_600_000,
  86_400_000,
  3 * 86_400_000,
  7 * 86_400_000,
  14 * 86_400_000,
  30 * 86_400_000,
];

/** A pause of more than this between two events of a person ends a session. */
export const SESSION_GAP_MS = 30 * 60_000;

/** Values that are given one by one. */
const VALUES = 20;
/** Values of one answer, and intervals longer than an hour: 800 days fit. */
const GROUPS_MAX = 1_001;
const HOUR_MS = 3_600_000;

/** Events that end the way from a step to the next one, for each step from the one up to before the other. */
interface Exclusion {
  selection: Selection;
  fromStep: number;
  beforeStep: number;
}

/**
 * Which of the events in the scope are looked at:
 *
 * - `all`: the filters choose afterwards among the events of a session, which is made of all events of a person
 * - `passing`: what passes the filters, as in strict order every event that lies between two steps ends the way
 * - `touches`: what besides fills a step, is excluded, or has a value for the breakdown
 * - `selected`: what besides fills a step or is excluded
 */
type Looked = 'all' | 'passing' | 'touches' | 'selected';

/** A funnel with everything decided that its question leaves open. */
export interface FunnelPlan extends Scope {
  steps: readonly Selection[];
  exclusions: readonly Exclusion[];
  windowMs: number;
  order: 'ordered' | 'strict' | 'any';
  countBy: 'person' | 'session';
  looked: Looked;
  /** How long before the scope events are looked at for their values alone; null where they are not. */
  lookbackMs: number | null;
  breakdown: { field: Field; at: 'first_step' | 'first_touch' | 'last_touch'; limit: number } | null;
  trend: { interval: Interval; timeZone: string } | null;
  /** Values, and intervals, that an answer holds. */
  groupsMax: number;
}

/** What a funnel asks for, as docs/analytics.md defines it. */
export function funnelPlan(query: FunnelQuery): FunnelPlan {
  const { steps, window_ms: windowMs, order = 'ordered', count_by: countBy = 'person', breakdown, trend } = query;
  return {
    ...scopeOf(query),
    steps,
    exclusions: exclusionsOf(query),
    windowMs,
    order,
    countBy,
    looked: looked(query),
    lookbackMs: breakdown?.lookback_ms ?? null,
    breakdown: breakdown === undefined ? null : { ...breakdown, limit: breakdown.limit ?? VALUES },
    trend: trend === undefined ? null : { interval: trend.interval, timeZone: trend.time_zone ?? 'UTC' },
    groupsMax: groupsMax(query),
  };
}

/** Where steps have no order, an exclusion lies between any two. */
function exclusionsOf({ exclusions = [], steps, order }: FunnelQuery): Exclusion[] {
  return exclusions.map(({ after_step = 1, before_step = steps.length, ...selection }) =>
    order === 'any'
      ? { selection, fromStep: 1, beforeStep: steps.length + 1 }
      : { selection, fromStep: after_step, beforeStep: before_step },
  );
}

function looked({ order, count_by, breakdown }: FunnelQuery): Looked {
  if (count_by === 'session') return 'all';
  if (order === 'strict') return 'passing';
  return breakdown === undefined || breakdown.at === 'first_step' ? 'selected' : 'touches';
}

/** No interval is left out of a trend: by the hour, 800 days are 19,200. */
function groupsMax({ from, to, trend }: FunnelQuery): number {
  return trend?.interval === 'hour' ? Math.max(GROUPS_MAX, Math.ceil((to - from) / HOUR_MS) + 1) : GROUPS_MAX;
}
