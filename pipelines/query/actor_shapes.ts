import { type Static, Type } from 'typebox';
import { closed } from './filter_shapes.ts';
import { STEPS_MAX as PATH_STEPS_MAX, pathsShape } from './paths.ts';
import { funnelShape, retentionShape, STEPS_MAX, trendsShape } from './shapes.ts';

export const LISTED = 100;
const LISTED_MAX = 1_000;
const TEXT_MAX = 100_000;

const intervalFrom = Type.Optional(
  Type.Integer({ description: 'When the interval began; the whole time where not given', minimum: 0 }),
);
const other = Type.Optional(
  Type.Boolean({ description: 'True: the values that the breakdown does not give one by one', default: false }),
);
const text = Type.String({ maxLength: TEXT_MAX });

const partShape = Type.Union([
  closed({
    funnel: funnelShape,
    step: Type.Integer({ minimum: 1, maximum: STEPS_MAX }),
    got: Type.Enum(['reached', 'dropped'], {
      description: 'To this step; or to the one before that may not be left out, and not to this',
    }),
    interval_from: intervalFrom,
    value: Type.Optional(Type.String({ description: 'Of the breakdown', maxLength: TEXT_MAX })),
    other,
  }),
  closed({
    trends: trendsShape,
    series: Type.Integer({ description: 'Which series, from 1', minimum: 1 }),
    interval_from: intervalFrom,
    parts: Type.Optional(
      Type.Array(text, { description: 'Of the breakdown: the text of each field', minItems: 1, maxItems: 3 }),
    ),
    other,
    before: Type.Optional(Type.Boolean({ description: 'True: of the time before, with compare', default: false })),
  }),
  closed({
    retention: retentionShape,
    cohort: Type.Integer({ description: 'When the interval of the cohort began', minimum: 0 }),
    period: Type.Optional(
      Type.Integer({
        description: 'Who came back so many intervals later; the whole cohort where not given',
        minimum: 0,
        maximum: 1_000,
      }),
    ),
  }),
  closed({
    paths: pathsShape,
    place: Type.Integer({
      description: 'Where the way begins: 0 is the event that paths are seen from, before it less',
      minimum: -PATH_STEPS_MAX,
      maximum: PATH_STEPS_MAX,
    }),
    way: Type.Array(Type.Union([text, Type.Null()]), {
      description: 'One value after the other: of one a node, of two an edge; null: the values that are not given',
      minItems: 1,
      maxItems: 2 * PATH_STEPS_MAX + 1,
    }),
    begins: Type.Optional(
      Type.Boolean({ description: 'True: paths that are given from the first value on', default: false }),
    ),
    last: Type.Optional(
      Type.Enum(['ends', 'goes_on'], {
        description:
          'Paths that end with the last value, or that go on behind the last step that is given; all where not given',
      }),
    ),
  }),
]);

export const actorsShape = closed({
  of: partShape,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LISTED_MAX, default: LISTED })),
  after: Type.Optional(Type.String({ description: 'next of the page before', pattern: '^[0-9]{1,20}[.][0-9]{1,20}$' })),
});
export type ActorsQuery = Static<typeof actorsShape>;
export type PartQuery<Chart extends 'funnel' | 'trends' | 'retention' | 'paths'> = Extract<
  ActorsQuery['of'],
  Record<Chart, object>
>;
