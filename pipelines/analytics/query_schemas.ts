// What may be asked, and what of it no schema can say.

import { type Static, Type } from 'typebox';
import { type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import {
  CONDITIONS_MAX,
  closed,
  dateMs,
  type Filter,
  fieldShape,
  filtersShape,
  PERSON_CONDITIONS_MAX,
} from './filters.ts';
import { filterLists, type PlacedCondition } from './query_rewrites.ts';
import { FORMULA_TEXT_MAX } from './trends/formula.ts';

export const STEPS_MIN = 2;
export const STEPS_MAX = 10;
export const EXCLUSIONS_MAX = 5;
const SERIES_MAX = 10;
const FORMULAS_MAX = 10;
const BREAKDOWN_FIELDS_MAX = 3;
const ROLLING_MAX = 100;
export const RANGE_MS_MAX = 800 * 86_400_000;
export const ROWS_MAX = 1_000;

const TIME_MAX = Date.UTC(2100, 0, 1);

export const eventNames = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  description: 'Any of these names; none given: any event',
  minItems: 1,
  maxItems: 50,
});

/** Events of some names that pass filters. */
const selectionShape = closed({ events: Type.Optional(eventNames), filters: Type.Optional(filtersShape) });
export type Selection = Static<typeof selectionShape>;

const time = (description: string) =>
  Type.Integer({ description: `${description}, in milliseconds since 1970 UTC`, minimum: 0, maximum: TIME_MAX });

const range = {
  from: time('Only events that happened at this time or later'),
  to: time('Only events that happened before this time'),
};

const timeZone = Type.Optional(
  Type.String({ description: 'IANA name of the zone in which days begin', maxLength: 60, default: 'UTC' }),
);
const fresh = Type.Optional(Type.Boolean({ description: 'True: no kept answer will do', default: false }));
/** Of every question about a time. */
export const common = { ...range, filters: Type.Optional(filtersShape), fresh };

const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];
const interval = Type.Enum([...INTERVALS]);

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
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: 20 })),
    }),
  ),
  trend: Type.Optional(closed({ interval, time_zone: timeZone })),
});
export type FunnelQuery = Static<typeof funnelShape>;

const measureShape = closed({
  of: Type.Enum(['events', 'persons', 'sum', 'average', 'min', 'max', 'median', 'p90', 'p99', 'unique'], {
    description: 'Events, different persons, something of the numbers of a field, or its different values',
  }),
  field: Type.Optional(fieldShape),
});

export const trendsShape = closed({
  ...common,
  interval,
  time_zone: timeZone,
  series: Type.Array(
    closed({ ...selectionShape.properties, sum: Type.Optional(fieldShape), measure: Type.Optional(measureShape) }),
    { minItems: 1, maxItems: SERIES_MAX },
  ),
  formulas: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: FORMULA_TEXT_MAX }), {
      description: 'Over what the series measure, which are A, B, ...: "A / B", "(A - B) * 100"',
      maxItems: FORMULAS_MAX,
    }),
  ),
  breakdown: Type.Optional(
    closed({
      field: Type.Optional(fieldShape),
      fields: Type.Optional(
        Type.Array(fieldShape, {
          description: 'By several fields together, in place of field',
          minItems: 1,
          maxItems: BREAKDOWN_FIELDS_MAX,
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: 100 })),
    }),
  ),
  compare: Type.Optional(
    Type.Enum(['previous'], { description: 'Beside it the time before, of as many intervals as this one has' }),
  ),
  rolling: Type.Optional(
    Type.Integer({
      description: 'How many intervals a rolling average is over: each and those before it in the answer',
      minimum: 2,
      maximum: ROLLING_MAX,
    }),
  ),
  empty_intervals: Type.Optional(
    Type.Enum(['left_out', 'zeros'], {
      description: 'Intervals without events; always given with formulas, compare or rolling',
      default: 'left_out',
    }),
  ),
});
export type TrendsQuery = Static<typeof trendsShape>;

const longInterval = Type.Enum(['day', 'week', 'month']);

export const retentionShape = closed({
  ...common,
  interval: longInterval,
  time_zone: timeZone,
  mode: Type.Optional(
    Type.Enum(['first', 'first_ever', 'recurring'], {
      description:
        'A person is in the interval of its first start event of this time; of its first ever, so that whoever began before is left out; or in each that it has one in',
      default: 'first',
    }),
  ),
  start: selectionShape,
  back: selectionShape,
});
export type RetentionQuery = Static<typeof retentionShape>;

export const stickinessShape = closed({
  ...common,
  interval: longInterval,
  time_zone: timeZone,
  series: Type.Array(selectionShape, { minItems: 1, maxItems: SERIES_MAX }),
});
export type StickinessQuery = Static<typeof stickinessShape>;

export const lifecycleShape = closed({
  ...common,
  interval: longInterval,
  time_zone: timeZone,
  events: Type.Optional(eventNames),
});
export type LifecycleQuery = Static<typeof lifecycleShape>;

export const topShape = closed({
  ...common,
  events: Type.Optional(eventNames),
  field: fieldShape,
  by: Type.Optional(Type.Enum(['events', 'persons', 'value'], { default: 'events' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: 20 })),
});
export type TopQuery = Static<typeof topShape>;

export const liveShape = closed({
  ...selectionShape.properties,
  received_after: Type.Optional(
    time('Only events that arrived later; an hour ago, or before received_before, where not given'),
  ),
  received_before: Type.Optional(time('Only events that arrived earlier: the page before what is known')),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: 50 })),
});
export type RecentEventsQuery = Static<typeof liveShape>;

export const engageQueryShape = closed({
  ...common,
  id: Type.String({ pattern: '^[a-z0-9_-]{1,64}$', description: 'Of the survey, promo or form' }),
  limit: Type.Optional(
    Type.Integer({ description: 'Values of each question, or sources', minimum: 1, maximum: ROWS_MAX, default: 50 }),
  ),
});
export type EngageQuery = Static<typeof engageQueryShape>;

const person = Type.String({ minLength: 1, maxLength: 200 });
export const timelineShape = Type.Union([
  closed({ ...common, person_id: person, limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX })) }),
  closed({ ...common, distinct_id: person, limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX })) }),
]);
export type TimelineQuery = Static<typeof timelineShape>;

/** Which events a whole question is about: those of a time, as the filters choose them. */
export interface Scope {
  from: number;
  to: number;
  filters: readonly Filter[];
}

export function scopeOf({ from, to, filters = [] }: Pick<Scope, 'from' | 'to'> & { filters?: Filter[] }): Scope {
  return { from, to, filters };
}

interface Range {
  from: number;
  to: number;
}

/** What of a query's times no shape can say. */
export function rangeProblems({ from, to }: Range): Problem[] {
  if (to <= from) return [problem('field_malformed', 'to', 'must be later than from')];
  return to - from > RANGE_MS_MAX ? [problem('field_malformed', 'to', 'is more than 800 days after from')] : [];
}

function zoneProblems(timeZone: string | undefined, field = 'time_zone'): Problem[] {
  if (timeZone === undefined || isTimeZone(timeZone)) return [];
  return [problem('field_malformed', field, 'is not a known time zone')];
}

/** What of a time cut into intervals no shape can say. */
export function cutProblems(query: Range & { time_zone?: string }): Problem[] {
  return [...rangeProblems(query), ...zoneProblems(query.time_zone)];
}

const DAY_MS = 86_400_000;
/** Recurring retention has a figure for every two of its intervals. */
const RECURRING_INTERVALS_MAX = 400;

/** What of retention no shape can say. */
export function retentionProblems(query: RetentionQuery): Problem[] {
  const days = (query.to - query.from) / DAY_MS;
  const isLong = query.mode === 'recurring' && query.interval === 'day' && days > RECURRING_INTERVALS_MAX;
  const message = `recurring retention has at most ${RECURRING_INTERVALS_MAX} intervals`;
  return [...cutProblems(query), ...(isLong ? [problem('too_many', 'interval', message)] : [])];
}

/** What of a funnel no shape can say. */
export function funnelProblems(query: FunnelQuery): Problem[] {
  return [
    ...rangeProblems(query),
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

/** What of a query's filters no shape can say, wherever in it they lie. */
export function filterProblems(query: unknown): Problem[] {
  const lists = filterLists(query);
  const all = lists.flatMap(({ conditions }) => conditions);
  const persons = all.filter(({ condition }) => 'person' in condition.field);
  return [
    ...lists.flatMap(({ place, conditions }) =>
      unless(conditions.length <= CONDITIONS_MAX, 'too_many', place, `at most ${CONDITIONS_MAX} conditions are taken`),
    ),
    ...unless(
      persons.length <= PERSON_CONDITIONS_MAX,
      'too_many',
      persons[PERSON_CONDITIONS_MAX]?.place ?? '',
      `at most ${PERSON_CONDITIONS_MAX} conditions of a query are on persons`,
    ),
    ...all.flatMap(dateProblems),
  ];
}

const DATED: ReadonlySet<string> = new Set(['before', 'at_or_before', 'after', 'at_or_after']);

function dateProblems({ place, condition }: PlacedCondition): Problem[] {
  const isDated = DATED.has(condition.is) && 'to' in condition;
  return isDated && Number.isNaN(dateMs(String(condition.to)))
    ? [problem('field_malformed', `${place}.to`, 'is no date')]
    : [];
}

/** Whether a zone is known by its IANA name. */
function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
