// What every kind of question has: the value that describes it, and the times, events and filters that it shares with others.

import { type Static, type TObject, type TUnion, Type } from 'typebox';
import { type Calendar, calendarOf, isTimeZone, type SaysCalendar, WEEK_STARTS } from '#pipelines/settings/calendar.ts';
import { type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import {
  CONDITIONS_MAX,
  closed,
  dateMs,
  type Filter,
  filtersShape,
  JOINED_VALUES_MAX,
  PERSON_CONDITIONS_MAX,
} from './filters.ts';
import { conditionsOf, joinedValues, type PlacedCondition } from './query_rewrites.ts';
import type { Statement } from './sql/statement.ts';

/**
 * A kind of question: what may be asked, what ClickHouse runs for it, and how the rows are answered. Its route, the OpenAPI
 * document, permissions, formats, the audit of data reads and saved questions follow from this value and its place in
 * questions.ts.
 */
export interface Question<
  Kind extends string = string,
  Schema extends TObject | TUnion = TObject | TUnion,
  Row = unknown,
  Answer extends TObject = TObject,
> {
  /** The last part of its path. */
  kind: Kind;
  summary: string;
  /** Of questions whose answers list persons or their events; without it, the permission for figures of many. */
  permission?: 'query.events' | 'query.persons';
  schema: Schema;
  answerSchema: Answer;
  /** A query as people would send it, for the documents. */
  example: Static<Schema>;
  /** What of a query no schema can say, beside its own time and its filters. */
  check?(query: Static<Schema>): Problem[];
  /** @param minPersons Fewest persons that a value may have for the answer to name it. */
  statement(siteId: string, query: Static<Schema>, minPersons: number, nowMs: number): Statement;
  answer(query: Static<Schema>, rows: readonly Row[], minPersons: number): Static<Answer>;
  /** Whether values that few persons have are left to those who may see persons. */
  suppressesSmallCounts?: true;
  /** The time whose events are read, where that is not what `timeRead` makes of the query; null: they are found otherwise. */
  reads?(query: Static<Schema>): { from: number; to: number } | null;
}

/** Declares a kind of question. */
export function question<const Kind extends string, Schema extends TObject | TUnion, Row, Answer extends TObject>(
  of: Question<Kind, Schema, Row, Answer>,
): Question<Kind, Schema, Row, Answer> {
  return of;
}

/** The time of examples. */
export const EXAMPLE_TIME = { from: Date.UTC(2027, 0, 1), to: Date.UTC(2027, 1, 1) };

export const SERIES_MAX = 10;
export const RANGE_MS_MAX = 800 * 86_400_000;
export const ROWS_MAX = 1_000;

/** No question is about a later time. */
export const TIME_MAX = Date.UTC(2100, 0, 1);

export const eventNames = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  description: 'Any of these names; none given: any event',
  minItems: 1,
  maxItems: 50,
});

/** Events of some names that pass filters. */
export const selectionShape = closed({ events: Type.Optional(eventNames), filters: Type.Optional(filtersShape) });
export type Selection = Static<typeof selectionShape>;

/** What a question without filters of its own for them selects. */
export const selectionOf = ({ events }: Pick<Selection, 'events'>): Selection =>
  events === undefined ? {} : { events };

export const time = (description: string) =>
  Type.Integer({ description: `${description}, in milliseconds since 1970 UTC`, minimum: 0, maximum: TIME_MAX });

/** Of every question about a time. */
export const common = {
  from: time('Only events that happened at this time or later'),
  to: time('Only events that happened before this time'),
  filters: Type.Optional(filtersShape),
  fresh: Type.Optional(Type.Boolean({ description: 'True: do not answer from the cache', default: false })),
};

/** How many values, or rows, an answer has at the most. */
export const limitOf = (most: number, description?: string) =>
  Type.Optional(Type.Integer({ ...(description && { description }), minimum: 1, maximum: ROWS_MAX, default: most }));

const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];
/** What a time is cut into, and where. */
export const interval = Type.Enum([...INTERVALS]);
export const longInterval = Type.Enum(['day', 'week', 'month']);
/** By which calendar it is cut. */
export const calendarFields = {
  time_zone: Type.Optional(
    Type.String({ description: "IANA name of the zone in which days begin; left out: the site's", maxLength: 60 }),
  ),
  week_start: Type.Optional(
    Type.Enum([...WEEK_STARTS], { description: "The day on which weeks begin; left out: the site's" }),
  ),
};

/** Which events a whole question is about: those of a time, as the filters choose them. */
export interface Scope {
  from: number;
  to: number;
  filters: readonly Filter[];
}

export function scopeOf({ from, to, filters = [] }: Pick<Scope, 'from' | 'to'> & { filters?: Filter[] }): Scope {
  return { from, to, filters };
}

/** The same of a time that is cut into intervals. */
export function cutOf<Of extends Interval>(
  query: Parameters<typeof scopeOf>[0] & { interval: Of } & SaysCalendar,
): Scope & { interval: Of; calendar: Calendar } {
  return { ...scopeOf(query), interval: query.interval, calendar: calendarOf(query) };
}

/** What of a query's times no schema can say, where it has such. */
export function timeProblems({ from, to, time_zone }: { from?: number; to?: number; time_zone?: string }): Problem[] {
  return [...(from === undefined || to === undefined ? [] : rangeProblems(from, to)), ...zoneProblems(time_zone)];
}

function rangeProblems(from: number, to: number): Problem[] {
  if (to <= from) return [problem('field_malformed', 'to', 'must be later than from')];
  return to - from > RANGE_MS_MAX ? [problem('field_malformed', 'to', 'is more than 800 days after from')] : [];
}

export function zoneProblems(timeZone: string | undefined, field = 'time_zone'): Problem[] {
  if (timeZone === undefined || isTimeZone(timeZone)) return [];
  return [problem('field_malformed', field, 'is not a known time zone')];
}

/** What of a query no schema can say. */
export function queryProblems<Schema extends TObject | TUnion>(
  { check }: Pick<Question<string, Schema>, 'check'>,
  query: Static<Schema>,
): Problem[] {
  return [...filterProblems(query), ...timeProblems(query as object), ...(check?.(query) ?? [])];
}

/** What of a query's filters no schema can say, wherever in it they lie. */
export function filterProblems(query: unknown): Problem[] {
  const all = conditionsOf(query);
  const persons = all.filter(({ condition }) => 'person' in condition.field);
  return [
    ...[...Map.groupBy(all, ({ list }) => list)].flatMap(([list, { length }]) =>
      unless(length <= CONDITIONS_MAX, 'too_many', list, `at most ${CONDITIONS_MAX} conditions are taken`),
    ),
    ...unless(
      persons.length <= PERSON_CONDITIONS_MAX,
      'too_many',
      persons[PERSON_CONDITIONS_MAX]?.place ?? '',
      `at most ${PERSON_CONDITIONS_MAX} conditions of a query are on persons`,
    ),
    ...unless(
      joinedValues(query).length <= JOINED_VALUES_MAX,
      'too_many',
      '',
      `at most ${JOINED_VALUES_MAX} different values of visits and persons are taken`,
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
