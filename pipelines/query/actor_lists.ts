import { type Static, Type } from 'typebox';
import { type ActorsQuery, LISTED, type PartQuery } from './actor_shapes.ts';
import { type FunnelPlan, funnelPlan } from './funnel_plan.ts';
import { type PathsPlan, pathsPlan, shownText } from './paths.ts';
import { type RetentionPlan, retentionPlan } from './retention.ts';
import { type TrendsPlan, trendsPlan } from './trends.ts';

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

/** The query whose part is listed: its time, and whether a kept answer will do. */
export function listedQuery({ of }: ActorsQuery): { to: number; fresh?: boolean } {
  if ('funnel' in of) return of.funnel;
  if ('paths' in of) return of.paths;
  return 'trends' in of ? of.trends : of.retention;
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
    description: 'How many there are: the number in the chart; null where a later page has nobody left',
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
