// What is asked for an alert of intervals, and the figures that the answer has.

import { allCohorts, type FindCohort, withCohorts } from '#pipelines/analytics/cohorts/cohort.ts';
import { withEveryName } from '#pipelines/analytics/event_names.ts';
import { queriedSince, withCalendar, withPagesOf, withPersonsOf } from '#pipelines/analytics/query_rewrites.ts';
import type { Interval } from '#pipelines/analytics/question.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendRow, TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { trends } from '#pipelines/analytics/trends/sql.ts';
import { type Calendar, calendarOf, intervalStart, wallMs } from '#pipelines/settings/calendar.ts';
import { pageRulesOf } from '#pipelines/settings/page_rules.ts';
import type { AlertState } from '#schemas/records.ts';
import type { Site } from '#schemas/setting.ts';
import { DAY_MS } from '../settings/calendar.ts';
import type { Alert } from './alert.ts';
import { type Against, isOfIntervals } from './alert_kinds.ts';
import type { Figure } from './judge.ts';

const HOUR_MS = 3_600_000;
/** The longest that an interval may be, where clocks change too. */
const LENGTH_MS: Readonly<Record<Interval, number>> = {
  hour: HOUR_MS,
  day: 25 * HOUR_MS,
  week: 7 * DAY_MS + HOUR_MS,
  month: 31 * DAY_MS + HOUR_MS,
};

/**
 * How many intervals are judged after the process was away, the newest. So many that no time overlaps with the one that it is
 * compared with.
 */
const CATCH_UP: Readonly<Record<Interval, number>> = { hour: 12, day: 4, week: 4, month: 2 };

/** Of so many intervals before one has to have had events, where one without any is to say something. */
const HAD_EVENTS_IN = 14;

const COMPARED: Readonly<Record<Exclude<Against, 'previous'>, number>> = { day: 1, week: 7, year: 364 };

const intervalOf = ({ interval = 'day' }: Alert): Interval => interval;
const againstOf = ({ condition }: Alert): Against | null => ('against' in condition ? condition.against : null);

const IDENTIFIERS = ['email_sha256', 'phone_hmac', 'external_id_sha256'] as const;

/** What is measured: a figure of the site's own question, or of the events that one of ours is about. */
function measured(alert: Alert): Pick<TrendsQuery, 'series' | 'formulas' | 'filters'> {
  if (alert.kind !== 'match_quality') return alert.question ?? { series: [{}] };
  const selection = alert.events === undefined ? {} : { events: alert.events };
  const hasOne = { any: IDENTIFIERS.map((column) => ({ field: { column }, is: 'set' as const })) };
  return { series: [{ ...selection, filters: [hasOne] }, selection], formulas: ['A / B * 100'] };
}

/**
 * What is asked of trends, so that every interval is in the answer that ended since `judgedTo`, with those that are needed to
 * judge it.
 */
export function questionOf(alert: Alert, calendar: Calendar, judgedTo: number, nowMs: number): TrendsQuery {
  const interval = intervalOf(alert);
  const against = againstOf(alert);
  const length = LENGTH_MS[interval];
  const looksBack = alert.condition.is === 'no_data' ? HAD_EVENTS_IN : against === 'previous' ? 1 : 0;
  const earliest = nowMs - alert.grace_minutes * 60_000 - (CATCH_UP[interval] + 1) * length;
  const from = Math.max(0, Math.max(judgedTo - length, earliest) - looksBack * length);
  const query: TrendsQuery = { ...measured(alert), from, to: nowMs, interval, empty_intervals: 'zeros' };
  return withCalendar({ ...query, ...compared(interval, against) }, calendar);
}

function compared(interval: Interval, against: Against | null): Pick<TrendsQuery, 'compare'> {
  if (against === null || against === 'previous') return {};
  return { compare: interval === 'month' ? 'year' : { days: COMPARED[against] } };
}

/** The statement of a question of a site; null where it names a cohort that the site does not have any more. */
export function statementOf(site: Site, query: TrendsQuery, nowMs: number, find: FindCohort): Statement | null {
  if (allCohorts(query, find).unknown !== null) return null;
  const siteId = site.site_id;
  const persons = withPersonsOf(withEveryName(query), siteId, queriedSince(query));
  const cohorted = withCohorts(persons, { siteId, calendar: calendarOf(site), nowMs, find });
  return trends.statement(siteId, withPagesOf(cohorted, pageRulesOf(site)), 1, nowMs);
}

/**
 * When the first interval is over that an alert which waits can judge: none is that began before it was made, changed or resumed.
 * Null where it waits for none.
 */
export function waitsUntil(alert: Alert, { status, judged_to: since }: AlertState, calendar: Calendar): number | null {
  if (status !== 'waiting' || !isOfIntervals(alert.kind)) return null;
  const interval = intervalOf(alert);
  const isBeginning = intervalStart(since, interval, calendar) === since;
  return intervalStart(since, interval, calendar, isBeginning ? 1 : 2);
}

interface Point {
  from: number;
  value: number | null;
  events: number;
}

/**
 * The figures of the intervals that are over by `endedBy`, the earliest first. The first interval is left out where the question
 * begins within it, and the last one in any case: nobody knows of it that it is over.
 */
export function figuresOf(
  alert: Alert,
  query: TrendsQuery,
  rows: readonly TrendRow[],
  calendar: Calendar,
  endedBy: number,
): Figure[] {
  const answer = trends.answer(query, rows, 1);
  const points = pointsOf(answer, 'now').filter(({ from }) => from >= query.from);
  const before = pointsOf(answer, 'before');
  return points.flatMap((point, at): Figure[] => {
    const next = points[at + 1];
    if (next === undefined || next.from > endedBy) return [];
    const base = baseOf(alert, points, at, before, calendar);
    return [
      {
        ...{ from: point.from, to: next.from, value: point.value, events: point.events },
        ...{ base: base?.value ?? null, baseEvents: base?.events ?? 0 },
        hadEvents: points.slice(Math.max(0, at - HAD_EVENTS_IN), at).some(({ events }) => events > 0),
      },
    ];
  });
}

/** Events of an interval are those of its series that has most: the first of a formula may count a part alone. */
function pointsOf({ series, formulas }: TrendsAnswer, of: 'now' | 'before'): Point[] {
  const [formula] = formulas;
  const groups = series.flatMap((one) => (of === 'now' ? [one] : one.before === undefined ? [] : [one.before]));
  const measuredBy = formula === undefined ? groups[0] : of === 'now' ? formula : formula.before;
  return (measuredBy?.intervals ?? []).map(({ from, measured: value }, at) => ({
    ...{ from, value },
    events: Math.max(0, ...groups.map(({ intervals }) => intervals[at]?.events ?? 0)),
  }));
}

/** By what the clocks show: where they are changed, an hour may have none, and is not judged. */
function baseOf(
  alert: Alert,
  points: readonly Point[],
  at: number,
  before: readonly Point[],
  { timeZone }: Calendar,
): Point | undefined {
  const against = againstOf(alert);
  const point = points[at];
  if (against === null || point === undefined) return undefined;
  if (against === 'previous') return points[at - 1];
  const shows = wallMs(point.from, timeZone);
  const wanted = intervalOf(alert) === 'month' ? yearBefore(shows) : shows - COMPARED[against] * DAY_MS;
  return before.find(({ from }) => wallMs(from, timeZone) === wanted);
}

function yearBefore(wall: number): number {
  const date = new Date(wall);
  return Date.UTC(date.getUTCFullYear() - 1, date.getUTCMonth(), 1);
}
