import { type Static, Type } from 'typebox';
import { closed, fieldShape, filtersShape } from './filter_shapes.ts';
import { FORMULA_TEXT_MAX } from './formula.ts';

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
export type LiveQuery = Static<typeof liveShape>;

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
