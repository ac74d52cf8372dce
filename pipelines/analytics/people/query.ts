// Who is in a part of a chart: the query, its plan and its answer.

import { type Static, Type } from 'typebox';
import { type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import { closed } from '../filters.ts';
import { type FunnelPlan, funnelPlan, funnelProblems, funnelShape, STEPS_MAX } from '../funnels/query.ts';
import {
  STEPS_MAX as PATH_STEPS_MAX,
  type PathsPlan,
  pathsPlan,
  pathsProblems,
  pathsShape,
  shownText,
} from '../paths.ts';
import { timeProblems } from '../question.ts';
import { type RetentionPlan, retentionPlan, retentionProblems, retentionShape } from '../retention.ts';
import { type TrendsPlan, trendsPlan, trendsProblems, trendsShape } from '../trends/query.ts';

/** A value of a breakdown, or all that it does not give one by one; null: any value. */
type Group<Value> = { value: Value } | 'other' | null;

/** Which part of which chart is listed. */
export type ListedPart =
  | {
      kind: 'funnel';
      plan: FunnelPlan;
      step: number;
      got: 'reached' | 'dropped';
      /** When the interval of the trend began; null: the whole time. */
      intervalFrom: number | null;
      group: Group<string>;
    }
  | {
      kind: 'trends';
      plan: TrendsPlan;
      /** Counted from 1 in the plan, which has those alone that the list needs. */
      series: number;
      intervalFrom: number | null;
      group: Group<readonly string[]>;
      /** Whether it is of the time before. */
      before: boolean;
    }
  | { kind: 'retention'; plan: RetentionPlan; cohort: number; period: number | null }
  | {
      kind: 'paths';
      plan: PathsPlan;
      /** Where the way begins; 0 is the anchor's. */
      place: number;
      /** The texts of the way; null: one that is not given. */
      way: readonly (string | null)[];
      /** Whether paths are given from its first value on. */
      begins: boolean;
      /** How they go on after the last one; null: however they do. */
      last: 'ends' | 'goes_on' | null;
    };

/** A list of actors with everything decided that its question leaves open. */
export interface ActorsPlan {
  part: ListedPart;
  limit: number;
  /** The digest of the actor, and the part of it, behind which the page begins. */
  after: { actor: string; part: string } | null;
}

export function actorsPlan({ of, limit = LISTED, after }: ActorsQuery): ActorsPlan {
  const [actor = '', part = ''] = after?.split('.') ?? [];
  return { part: partOf(of), limit, after: after === undefined ? null : { actor, part } };
}

function partOf(of: ActorsQuery['of']): ListedPart {
  if ('trends' in of) return barOf(of);
  if ('retention' in of) {
    const { retention, cohort, period = null } = of;
    return { kind: 'retention', plan: retentionPlan(retention), cohort, period };
  }
  if ('paths' in of) return wayOf(of);
  const { funnel, step, got, interval_from: intervalFrom = null, value, other } = of;
  return { kind: 'funnel', plan: funnelPlan(funnel), step, got, intervalFrom, group: groupOf(value, other) };
}

function wayOf({ paths, place, way, begins = false, last }: PartQuery<'paths'>): ListedPart {
  const plan = pathsPlan(paths);
  const texts = way.map((text) => (text === null ? null : shownText(plan.by, text)));
  return { kind: 'paths', plan, place, way: texts, begins, last: last ?? null };
}

/** Only which values are the others depends on what series measure, and on other series. */
function barOf(of: PartQuery<'trends'>): ListedPart {
  const { trends, series, interval_from: intervalFrom = null, parts, other, before = false } = of;
  const plan = trendsPlan(trends);
  const group = groupOf(parts, other);
  const rest = { intervalFrom, group, before };
  if (group === 'other') return { kind: 'trends', plan, series, ...rest };
  const alone = plan.series.slice(series - 1, series).map((one) => ({ ...one, number: null, unique: null }));
  const breakdown = group === null ? null : plan.breakdown;
  return { kind: 'trends', plan: { ...plan, series: alone, breakdown }, series: 1, ...rest };
}

function groupOf<Value>(value: Value | undefined, other = false): Group<Value> {
  if (other) return 'other';
  return value === undefined ? null : { value };
}

/** One actor: its digest and part as texts, how many there are in all, and the event it is there by. */
export interface ActorRow {
  actor: string;
  part: string;
  total: number;
  entry: [person: string, eventId: string, event: string, distinctId: string, happened: number];
}

/** The answer to a list of actors. */
export const actorsAnswerShape = Type.Object({
  total: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Total, equal to the number in the chart; null on a page beyond the last',
  }),
  actors: Type.Array(
    Type.Object({
      person_id: Type.String({ description: 'As known now; of sessions a person may have several' }),
      timestamp: Type.Integer({ description: 'When it got here, in milliseconds since 1970 UTC' }),
      event: Type.String({ description: 'By which event' }),
      event_id: Type.String(),
      distinct_id: Type.String(),
    }),
    { description: 'In an order that no later event changes' },
  ),
  next: Type.Union([Type.String(), Type.Null()], { description: 'For after; null on the last page' }),
});
export type ActorsAnswer = Static<typeof actorsAnswerShape>;

/** The answer from the rows of the statement, which has one more than a page holds where there is another page. */
export function actorsAnswer({ limit = LISTED, after }: ActorsQuery, rows: readonly ActorRow[]): ActorsAnswer {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    total: rows[0]?.total ?? (after === undefined ? 0 : null),
    actors: page.map(({ entry: [person_id, event_id, event, distinct_id, timestamp] }) => ({
      person_id,
      timestamp,
      event,
      event_id,
      distinct_id,
    })),
    next: last === undefined || rows.length <= limit ? null : `${last.actor}.${last.part}`,
  };
}

const LISTED = 100;
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

const UINT64_MAX = 2n ** 64n - 1n;

/** What of a list of actors no schema can say. */
export function actorsProblems({ of, after }: ActorsQuery): Problem[] {
  const isPlace = after === undefined || after.split('.').every((part) => BigInt(part) <= UINT64_MAX);
  return [...partProblems(of), ...unless(isPlace, 'field_malformed', 'after', 'is of no page')];
}

function partProblems(of: ActorsQuery['of']): Problem[] {
  if ('funnel' in of) return stepProblems(of);
  if ('paths' in of) return wayProblems(of);
  if ('trends' in of) return barProblems(of);
  const { retention } = of;
  return within('of.retention', [...timeProblems(retention), ...retentionProblems(retention)]);
}

function stepProblems({ funnel, step, got, value, other, interval_from: from }: PartQuery<'funnel'>): Problem[] {
  const { steps, breakdown, trend } = funnel;
  return [
    ...within('of.funnel', [...timeProblems(funnel), ...funnelProblems(funnel)]),
    ...unless(step <= steps.length, 'field_malformed', 'of.step', 'is not a step'),
    ...unless(got === 'reached' || step > 1, 'field_malformed', 'of.step', 'has no step before it'),
    ...unless(from === undefined || trend !== undefined, 'field_malformed', 'of.interval_from', 'needs a trend'),
    ...groupProblems('value', value, other, breakdown),
  ];
}

function barProblems({ trends, series, parts, other, before }: PartQuery<'trends'>): Problem[] {
  const fields = trendsPlan(trends).breakdown?.fields.length ?? 0;
  const isWhole = parts === undefined || fields === 0 || parts.length === fields;
  return [
    ...within('of.trends', [...timeProblems(trends), ...trendsProblems(trends)]),
    ...unless(series <= trends.series.length, 'field_malformed', 'of.series', 'is not a series'),
    ...unless(before !== true || trends.compare !== undefined, 'field_malformed', 'of.before', 'needs compare'),
    ...unless(isWhole, 'field_malformed', 'of.parts', `needs a text of each field, ${fields} of them`),
    ...groupProblems('parts', parts, other, trends.breakdown),
  ];
}

function wayProblems({ paths, place, way }: PartQuery<'paths'>): Problem[] {
  const { before, after } = pathsPlan(paths);
  const last = place + way.length - 1;
  return [
    ...within('of.paths', [...timeProblems(paths), ...pathsProblems(paths)]),
    ...unless(place >= -before && place <= after, 'field_malformed', 'of.place', 'is no place of these paths'),
    ...unless(last <= after, 'field_malformed', 'of.way', 'is longer than these paths'),
    ...unless(!way.includes(''), 'field_malformed', 'of.way', 'has an empty text, which is no place'),
  ];
}

function groupProblems(
  name: 'value' | 'parts',
  value: unknown,
  other: boolean | undefined,
  breakdown: object | undefined,
): Problem[] {
  const needed = (field: string, isGiven: boolean): Problem[] =>
    unless(!isGiven || breakdown !== undefined, 'field_malformed', `of.${field}`, 'needs a breakdown');
  return [
    ...needed(name, value !== undefined),
    ...needed('other', other === true),
    ...unless(value === undefined || other !== true, 'field_malformed', 'of.other', `is not taken beside ${name}`),
  ];
}

function within(place: string, problems: readonly Problem[]): Problem[] {
  return problems.map(({ code, field, message }) => problem(code, `${place}.${field}`, message));
}
