// Funnels: what may be asked, what a query decides, and its answer.

import { type Static, Type } from 'typebox';
import { type Calendar, calendarOf } from '#pipelines/settings/calendar.ts';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { closed, type Field, fieldShape } from '../filters.ts';
import {
  calendarFields,
  common,
  type Interval,
  interval,
  limitOf,
  RANGE_MS_MAX,
  type Scope,
  type Selection,
  scopeOf,
  selectionShape,
  zoneProblems,
} from '../question.ts';

const STEPS_MIN = 2;
export const STEPS_MAX = 10;
export const EXCLUSIONS_MAX = 5;
/** Values that are given one by one. */
const VALUES = 20;

export const funnelShape = closed({
  ...common,
  steps: Type.Array(
    closed({
      ...selectionShape.properties,
      optional: Type.Optional(
        Type.Boolean({ description: 'True: a way may leave it out; not the first or the last', default: false }),
      ),
    }),
    { minItems: STEPS_MIN, maxItems: STEPS_MAX },
  ),
  window_ms: Type.Integer({
    description: 'Longest time from the first step to the last',
    minimum: 0,
    maximum: RANGE_MS_MAX,
  }),
  order: Type.Optional(
    Type.Enum(['ordered', 'strict', 'any'], {
      description: 'ordered: others may lie between; strict: none may; any: in whatever order',
      default: 'ordered',
    }),
  ),
  count_by: Type.Optional(Type.Enum(['person', 'session'], { default: 'person' })),
  exclusions: Type.Optional(
    Type.Array(
      closed({
        ...selectionShape.properties,
        after_step: Type.Optional(Type.Integer({ description: '1 where not given', minimum: 1, maximum: STEPS_MAX })),
        before_step: Type.Optional(
          Type.Integer({ description: 'The last one where not given', minimum: 2, maximum: STEPS_MAX }),
        ),
        ends: Type.Optional(
          Type.Enum(['way', 'actor'], {
            description: 'way: the actor may get there by another way; actor: it is not counted at any step',
            default: 'way',
          }),
        ),
      }),
      { description: 'An event of these after one step ends the way to the other', maxItems: EXCLUSIONS_MAX },
    ),
  ),
  breakdown: Type.Optional(
    closed({
      field: fieldShape,
      at: Type.Enum(['first_step', 'step', 'first_touch', 'last_touch'], {
        description:
          'Of the event of the first step or of another, or of the first or last event with a value until the last step',
      }),
      step: Type.Optional(
        Type.Integer({ description: 'With step: of the event of which step', minimum: 1, maximum: STEPS_MAX }),
      ),
      lookback_ms: Type.Optional(
        Type.Integer({ description: 'How long before from touches count', minimum: 0, maximum: RANGE_MS_MAX }),
      ),
      limit: limitOf(VALUES),
    }),
  ),
  trend: Type.Optional(closed({ interval, ...calendarFields })),
});
export type FunnelQuery = Static<typeof funnelShape>;

/** What of a funnel no schema can say. */
export function funnelProblems(query: FunnelQuery): Problem[] {
  return [
    ...zoneProblems(query.trend?.time_zone, 'trend.time_zone'),
    ...optionalProblems(query),
    ...exclusionProblems(query),
    ...attributionProblems(query),
    ...lookbackProblems(query),
  ];
}

function optionalProblems({ steps, order }: FunnelQuery): Problem[] {
  return steps.flatMap(({ optional }, index) => {
    const field = `steps[${index}].optional`;
    if (optional !== true) return [];
    if (order === 'any') return [problem('field_malformed', field, 'is not for steps without an order')];
    const isBetween = index > 0 && index < steps.length - 1;
    return isBetween ? [] : [problem('field_malformed', field, 'is not for the first or the last step')];
  });
}

function attributionProblems({ breakdown, steps }: FunnelQuery): Problem[] {
  if (breakdown === undefined) return [];
  const { at, step } = breakdown;
  const field = 'breakdown.step';
  if (at !== 'step') return step === undefined ? [] : [problem('field_malformed', field, 'is for at step only')];
  if (step === undefined) return [problem('field_missing', field, 'is missing: at says step')];
  return step <= steps.length ? [] : [problem('field_malformed', field, 'is not a step')];
}

function exclusionProblems({ exclusions = [], steps, order }: FunnelQuery): Problem[] {
  return exclusions.flatMap((exclusion, index) => {
    const { after_step, before_step } = exclusion;
    const field = `exclusions[${index}]`;
    if (order === 'any' && (after_step ?? before_step) !== undefined) {
      return [problem('field_malformed', field, 'has steps, which have no order here')];
    }
    const [after, before] = [after_step ?? 1, before_step ?? steps.length];
    if (before > steps.length) return [problem('field_malformed', `${field}.before_step`, 'is not a step')];
    return after < before ? [] : [problem('field_malformed', `${field}.before_step`, 'must be after after_step')];
  });
}

function lookbackProblems({ breakdown, count_by, from }: FunnelQuery): Problem[] {
  const lookbackMs = breakdown?.lookback_ms;
  const field = 'breakdown.lookback_ms';
  if (breakdown === undefined || lookbackMs === undefined) return [];
  if (breakdown.at === 'first_step' || breakdown.at === 'step')
    return [problem('field_malformed', field, 'is for touches only')];
  if (count_by === 'session') return [problem('field_malformed', field, 'is not for sessions')];
  return lookbackMs > from ? [problem('field_malformed', field, 'reaches before 1970')] : [];
}

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
  /** Fields beside that of the breakdown: of each there is an attempt more of every actor, with its value. */
  besides: readonly Field[];
  trend: { interval: Interval; calendar: Calendar } | null;
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
    besides: [],
    trend: trend === undefined ? null : { interval: trend.interval, calendar: calendarOf(trend) },
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
  time_ms: Type.Union([timeShape, orNull], { description: 'Null where no person reached this step' }),
  between_ms: Type.Union([betweenShape, orNull], {
    description: 'Null at the first step and where no person reached this one',
  }),
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
