import { type Static, type TProperties, Type } from 'typebox';

export const STEPS_MIN = 2;
export const STEPS_MAX = 10;
export const EXCLUSIONS_MAX = 5;
const FILTERS_MAX = 20;
const SERIES_MAX = 10;
export const RANGE_MS_MAX = 800 * 86_400_000;
const ROWS_MAX = 1_000;

const TIME_MAX = Date.UTC(2100, 0, 1);
const TEXT_MAX = 1_000;

const closed = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });

/** Columns that a query may name: the view `events` has them, and so does `event_rows`, which funnels read. */
export const COLUMNS = [
  'event',
  'event_id',
  'distinct_id',
  'person_id',
  'mode',
  'action_source',
  'caller',
  'identify',
  'email_sha256',
  'phone_sha256',
  'external_id_sha256',
  'city',
  'state',
  'zip',
  'country',
  'client_ip',
  'client_user_agent',
  'value',
  'currency',
  'order_id',
] as const;
export type Column = (typeof COLUMNS)[number];

const fieldShape = Type.Union([
  closed({ column: Type.Enum([...COLUMNS]) }),
  closed({
    property: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      description: 'Path into the properties: ["cart", "size"] is 2 in {"cart": {"size": 2}}',
      minItems: 1,
      maxItems: 10,
    }),
  }),
]);
export type Field = Static<typeof fieldShape>;

const textValue = Type.String({ maxLength: TEXT_MAX });
const anyValue = Type.Union([textValue, Type.Number(), Type.Boolean()]);

const filterShape = Type.Union([
  closed({
    field: fieldShape,
    is: Type.Enum(['equal', 'not_equal']),
    to: Type.Array(anyValue, { description: 'Any of these', minItems: 1, maxItems: 100 }),
  }),
  closed({
    field: fieldShape,
    is: Type.Enum(['containing', 'not_containing', 'starting_with', 'ending_with']),
    to: textValue,
  }),
  closed({ field: fieldShape, is: Type.Enum(['above', 'at_least', 'below', 'at_most']), to: Type.Number() }),
  closed({ field: fieldShape, is: Type.Enum(['set', 'not_set']) }),
]);
export type Filter = Static<typeof filterShape>;

const eventNames = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  description: 'Any of these names; none given: any event',
  minItems: 1,
  maxItems: 50,
});
const filters = Type.Array(filterShape, { description: 'All of these', maxItems: FILTERS_MAX });

/** Events of some names that pass filters. */
const selectionShape = closed({ events: Type.Optional(eventNames), filters: Type.Optional(filters) });
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
const common = { ...range, filters: Type.Optional(filters), fresh };

const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];
const interval = Type.Enum([...INTERVALS]);

export const funnelShape = closed({
  ...common,
  steps: Type.Array(selectionShape, { minItems: STEPS_MIN, maxItems: STEPS_MAX }),
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
      }),
      { description: 'An event of these after one step ends the way to the other', maxItems: EXCLUSIONS_MAX },
    ),
  ),
  breakdown: Type.Optional(
    closed({
      field: fieldShape,
      at: Type.Enum(['first_step', 'first_touch', 'last_touch'], {
        description: 'Of the event of the first step, or of the first or last event with a value until the last step',
      }),
      lookback_ms: Type.Optional(
        Type.Integer({ description: 'How long before from touches count', minimum: 0, maximum: RANGE_MS_MAX }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: 20 })),
    }),
  ),
  trend: Type.Optional(closed({ interval, time_zone: timeZone })),
});
export type FunnelQuery = Static<typeof funnelShape>;

export const trendsShape = closed({
  ...common,
  interval,
  time_zone: timeZone,
  series: Type.Array(closed({ ...selectionShape.properties, sum: Type.Optional(fieldShape) }), {
    minItems: 1,
    maxItems: SERIES_MAX,
  }),
  breakdown: Type.Optional(
    closed({ field: fieldShape, limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: 100 })) }),
  ),
});
export type TrendsQuery = Static<typeof trendsShape>;

export const retentionShape = closed({
  ...common,
  interval: Type.Enum(['day', 'week', 'month']),
  time_zone: timeZone,
  start: selectionShape,
  back: selectionShape,
});
export type RetentionQuery = Static<typeof retentionShape>;

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
  received_after: Type.Optional(time('Only events that arrived later; an hour ago where not given')),
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
