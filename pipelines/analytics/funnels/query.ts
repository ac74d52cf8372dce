// Funnels: what a query decides, and its answer.

import { type Static, Type } from 'typebox';
import type { Field } from '../filters.ts';
import { type FunnelQuery, type Interval, type Scope, type Selection, scopeOf } from '../query_schemas.ts';

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

/**
 * Figures of a step: `[reached, sum of the times as text, [median, p90], least, most]`, then of the times from the step before
 * `sum as text, [median, p90]`.
 */
type StepFigures = [number, string, [number, number], number, number, string, [number, number]];

/** One row of the answer: of everything, of a value of the breakdown, of all others together, or of an interval of the trend. */
export interface FunnelRow {
  kind: 'all' | 'value' | 'other' | 'interval';
  /** Of the row's attempts. */
  texts: number;
  text: string;
  bucket: number;
  steps: StepFigures[];
  times: number[];
}

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const share = (description: string) => Type.Number({ description, minimum: 0, maximum: 1 });
const orNull = Type.Null();

const timeShape = Type.Object(
  {
    median: Type.Integer(),
    p90: Type.Integer(),
    average: Type.Integer(),
    least: Type.Integer(),
    most: Type.Integer(),
  },
  { description: 'From the first step to this one, in milliseconds' },
);

const betweenShape = Type.Object(
  { median: Type.Integer(), p90: Type.Integer(), average: Type.Integer() },
  { description: 'From the step before on the same way, in milliseconds' },
);

const stepShape = Type.Object({
  reached: count('Persons, or sessions, that got to this step; those who left out an optional one did not'),
  of_first: share('Part of those of the first step'),
  of_previous: share('Part of those of the step before; an optional step is passed over'),
  time_ms: Type.Union([timeShape, orNull], { description: 'Null where nobody got here' }),
  between_ms: Type.Union([betweenShape, orNull], { description: 'Null where nobody got here, and at the first step' }),
});
const stepsShape = Type.Array(stepShape);

/** The answer to a funnel. */
export const funnelAnswerShape = Type.Object({
  steps: stepsShape,
  time_to_convert: Type.Array(
    Type.Object({
      up_to_ms: Type.Union([Type.Integer(), orNull], { description: 'Null for the class of all longer ones' }),
      reached: count('Conversions that took longer than the class before and up to this'),
    }),
  ),
  breakdown: Type.Array(Type.Object({ value: Type.String(), steps: stepsShape }), {
    description: 'By the number of the first step, the greatest first; the empty text is for no value',
  }),
  more_values: Type.Boolean({ description: 'Whether there are more values than are given' }),
  other: Type.Union([Type.Object({ values: count('How many values'), steps: stepsShape }), orNull], {
    description: 'All values together that are not given; null where there are none',
  }),
  trend: Type.Array(
    Type.Object({ from: Type.Integer({ description: 'When the interval began' }), steps: stepsShape }),
    {
      description: 'By when the attempt began that reached the most steps; intervals in which none began are left out',
    },
  ),
});
export type FunnelAnswer = Static<typeof funnelAnswerShape>;
export type FunnelStep = Static<typeof stepShape>;

/** The answer from the rows of the funnel's statement. */
export function funnelAnswer(query: FunnelQuery, rows: readonly FunnelRow[]): FunnelAnswer {
  const all = rows.find(({ kind }) => kind === 'all');
  const values = rows.filter(({ kind }) => kind === 'value');
  const intervals = rows.filter(({ kind }) => kind === 'interval').toSorted((a, b) => a.bucket - b.bucket);
  const other = rows.find(({ kind }) => kind === 'other');
  return {
    steps: answeredSteps(query, all?.steps ?? query.steps.map((): StepFigures => [0, '0', [0, 0], 0, 0, '0', [0, 0]])),
    time_to_convert: classesOf(all?.times ?? []),
    breakdown: values.map(({ text, steps }) => ({ value: text, steps: answeredSteps(query, steps) })),
    more_values: other !== undefined,
    other: other === undefined ? null : { values: other.texts, steps: answeredSteps(query, other.steps) },
    trend: intervals.map(({ bucket, steps }) => ({ from: bucket, steps: answeredSteps(query, steps) })),
  };
}

function answeredSteps({ steps }: FunnelQuery, figures: readonly StepFigures[]): FunnelStep[] {
  const [first = 0] = figures[0] ?? [];
  let previous = first;
  return figures.map(([reached, sum, [median, p90], least, most, betweenSum, [betweenMedian, betweenP90]], index) => {
    const step: FunnelStep = {
      reached,
      of_first: part(reached, first),
      of_previous: part(reached, previous),
      time_ms: reached === 0 ? null : { median, p90, average: average(sum, reached), least, most },
      between_ms:
        reached === 0 || index === 0
          ? null
          : { median: betweenMedian, p90: betweenP90, average: average(betweenSum, reached) },
    };
    if (steps[index]?.optional !== true) previous = reached;
    return step;
  });
}

const average = (sum: string, count: number): number => Number(BigInt(sum) / BigInt(count));

function part(some: number, all: number): number {
  return all === 0 ? 0 : some / all;
}

function classesOf(upTo: readonly number[]): FunnelAnswer['time_to_convert'] {
  return [...TIME_CLASSES_MS, null].map((ms, index) => ({
    up_to_ms: ms,
    reached: (upTo[index] ?? 0) - (upTo[index - 1] ?? 0),
  }));
}
