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
  /** What ends by such an event: the way, or all that the actor does. */
  ends: 'way' | 'actor';
}

/** A step of a funnel. */
interface Step extends Selection {
  optional: boolean;
  /** In any order: the nearest step before that is the same, which another event has to fill; null: there is none. */
  sameAs: number | null;
}

/** Where an actor's value is taken from, for a breakdown. */
interface Attribution {
  field: Field;
  at: 'first_step' | 'step' | 'first_touch' | 'last_touch';
  /** Counted from 1; of `step` alone. */
  step: number;
  limit: number;
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
  steps: readonly Step[];
  exclusions: readonly Exclusion[];
  windowMs: number;
  order: 'ordered' | 'strict' | 'any';
  countBy: 'person' | 'session';
  looked: Looked;
  /** How long before the scope events are looked at for their values alone; null where they are not. */
  lookbackMs: number | null;
  breakdown: Attribution | null;
  trend: { interval: Interval; timeZone: string } | null;
  /** Values, and intervals, that an answer holds. */
  groupsMax: number;
}

/** What a funnel asks for, as docs/analytics.md defines it. */
export function funnelPlan(query: FunnelQuery): FunnelPlan {
  const { window_ms: windowMs, order = 'ordered', count_by: countBy = 'person', breakdown, trend } = query;
  return {
    ...scopeOf(query),
    steps: stepsOf(query),
    exclusions: exclusionsOf(query),
    windowMs,
    order,
    countBy,
    looked: looked(query),
    lookbackMs: breakdown?.lookback_ms ?? null,
    breakdown: breakdown === undefined ? null : { step: 1, limit: VALUES, ...breakdown },
    trend: trend === undefined ? null : { interval: trend.interval, timeZone: trend.time_zone ?? 'UTC' },
    groupsMax: groupsMax(query),
  };
}

function stepsOf({ steps }: FunnelQuery): Step[] {
  const before = new Map<string, number>();
  return steps.map(({ optional = false, ...selection }, index) => {
    const name = JSON.stringify([[...new Set(selection.events)].sort(), selection.filters ?? []]);
    const sameAs = before.get(name) ?? null;
    before.set(name, index + 1);
    return { ...selection, optional, sameAs };
  });
}

/** Where steps have no order, an exclusion lies between any two. */
function exclusionsOf({ exclusions = [], steps, order }: FunnelQuery): Exclusion[] {
  return exclusions.map(({ after_step = 1, before_step = steps.length, ends = 'way', ...selection }) =>
    order === 'any'
      ? { selection, ends, fromStep: 1, beforeStep: steps.length + 1 }
      : { selection, ends, fromStep: after_step, beforeStep: before_step },
  );
}

function looked({ order, count_by, breakdown }: FunnelQuery): Looked {
  if (count_by === 'session') return 'all';
  if (order === 'strict') return 'passing';
  const isTouch = breakdown?.at === 'first_touch' || breakdown?.at === 'last_touch';
  return isTouch ? 'touches' : 'selected';
}

/** No interval is left out of a trend: by the hour, 800 days are 19,200. */
function groupsMax({ from, to, trend }: FunnelQuery): number {
  return trend?.interval === 'hour' ? Math.max(GROUPS_MAX, Math.ceil((to - from) / HOUR_MS) + 1) : GROUPS_MAX;
}
