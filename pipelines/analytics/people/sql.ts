// Who is in a part of a chart: the statement for each kind of chart, and the question.

import { breakdownTextsSql } from '../funnels/levels_sql.ts';
import type { FunnelPlan } from '../funnels/query.ts';
import { attemptsSql } from '../funnels/sql.ts';
import { enteredPathsSql, type PathsPlan, pathsSql } from '../paths.ts';
import { EXAMPLE_TIME, question } from '../question.ts';
import { startsAndReturnsSql } from '../retention.ts';
import {
  actorOf,
  digestOfText,
  FIRST_ROW,
  intervalsUntil,
  MARK,
  markOf,
  querySpan,
  SPILLED,
  spanBefore,
  startOf,
  type TimeSpan,
  timeOf,
} from '../sql/event_rows.ts';
import { allOf, textsSql } from '../sql/expressions.ts';
import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { digestOfValue, isRestSql, seriesEventsSql } from '../trends/sql.ts';
import {
  type ActorsPlan,
  actorsAnswer,
  actorsAnswerShape,
  actorsPlan,
  actorsProblems,
  actorsShape,
  type ListedPart,
} from './query.ts';

/**
 * The statement of who is in a part of a chart, a page of them. Rows: ActorRow, one more than the page has.
 *
 * Actors are in the order of their digests, which no event changes, so that a page begins where the one before ended
 * whatever arrives between them. Only of those on the page the event is looked up that they are there by.
 */
function actorsStatement(siteId: string, { part, limit, after }: ActorsPlan): Statement {
  const binder = createBinder();
  const behind =
    after === null
      ? ''
      : `WHERE (actor, part) > (${binder.bind(after.actor, 'UInt64')}, ${binder.bind(after.part, 'UInt64')})`;
  const page = `SELECT * FROM (SELECT actor, part, at, mark, count() OVER () AS total FROM (${listedSql(siteId, part, binder)}))
${behind} ORDER BY actor, part LIMIT ${limit + 1}`;
  const entry = 'tuple(person_id, sent_id, toString(event), distinct_id, happened)';
  return binder.statement(`SELECT toString(listed.actor) AS actor, toString(listed.part) AS part, any(listed.total) AS total,
  argMin(${entry}, ${FIRST_ROW}) AS entry
FROM (${eventsSql(siteId, spanOf(part, binder), binder)}) AS stored INNER JOIN (${page}) AS listed
  ON stored.of = listed.actor AND stored.happened = listed.at AND stored.mark = listed.mark
GROUP BY listed.actor, listed.part ORDER BY listed.actor, listed.part
${SPILLED}`);
}

function eventsSql(siteId: string, { from, to }: TimeSpan, binder: Binder): string {
  return `SELECT actor AS of, toUnixTimestamp64Milli(timestamp) AS happened, ${MARK} AS mark,
  person_id, sent_id, event, distinct_id, timestamp, received_at, raw_index
FROM event_rows WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to}`;
}

/** When the events happened that actors are there by. */
function spanOf(part: ListedPart, binder: Binder): TimeSpan {
  return part.kind === 'trends' && part.before ? spanBefore(part.plan, binder) : querySpan(part.plan, binder);
}

/** `actor`, `part` (0, or which session of the actor), and `at` and `mark` of the event that each is there by. */
function listedSql(siteId: string, part: ListedPart, binder: Binder): string {
  switch (part.kind) {
    case 'funnel':
      return funnelActorsSql(siteId, part, binder);
    case 'trends':
      return barActorsSql(siteId, part, spanOf(part, binder), binder);
    case 'retention':
      return cohortActorsSql(siteId, part, binder);
    case 'paths':
      return pathActorsSql(siteId, part, binder);
  }
}

type Part<Kind extends ListedPart['kind']> = Extract<ListedPart, { kind: Kind }>;

/** Who reached a step, by the event that did; or who reached the one before and not this, by the event of that one. A step that may be left out is none before. */
function funnelActorsSql(siteId: string, part: Part<'funnel'>, binder: Binder): string {
  const { plan, step, got, group, intervalFrom } = part;
  const last = got === 'reached' ? step : requiredBefore(plan, step);
  // Sessions of a person are half an hour apart, so that no two have a beginning in common.
  const session = plan.countBy === 'session' ? timeOf('packed[place1]') : 'toUInt64(0)';
  const entry = `packed[place${last}]`;
  const columns = [
    `${actorOf('packed[1]')} AS actor`,
    `${session} AS part`,
    `toInt64(${timeOf(entry)}) AS at`,
    `${markOf(entry)} AS mark`,
    `${allOf([`reached[${last}]`, ...(got === 'reached' ? [] : [`NOT reached[${step}]`])])} AS isListed`,
    ...(plan.breakdown === null ? [] : ['value']),
    ...(plan.trend === null ? [] : ['bucket']),
  ];
  const more = [...new Set([1, last])].map((reached) => `place${reached}`);
  const attempts = `SELECT ${columns.join(', ')}
FROM (${attemptsSql(siteId, plan, binder, { more, kept: ['packed'] })})`;
  const wanted = [
    'isListed',
    ...(intervalFrom === null ? [] : [`bucket = ${binder.bind(intervalFrom, 'Int64')}`]),
    ...(group === 'other' ? [`place > ${plan.breakdown?.limit ?? 0}`] : []),
    ...(group === null || group === 'other' ? [] : [`value = ${digestOfText(binder.bind(group.value, 'String'))}`]),
  ];
  const from = group === 'other' ? rankedSql(attempts, breakdownTextsSql(siteId, plan, binder)) : attempts;
  return `SELECT actor, part, at, mark FROM (${from}) WHERE ${allOf(wanted)}`;
}

/** Attempts with the `place` of their value: that of the most attempts is the first. */
function rankedSql(attempts: string, texts: string): string {
  const counted = `SELECT *, count() OVER (PARTITION BY value) AS began FROM (${attempts})`;
  return `SELECT counted.*, dense_rank() OVER (ORDER BY began DESC, texts.text) AS place
FROM (${counted}) AS counted LEFT JOIN (${texts}) AS texts ON counted.value = texts.digest`;
}

/** The nearest step before one that may not be left out: who did not get there did not leave the other either. */
function requiredBefore({ steps }: FunnelPlan, step: number): number {
  return steps.findLastIndex(({ optional }, index) => index < step - 1 && !optional) + 1;
}

/** What puts events in order, and tells which event it is. */
const MOMENT = `tuple(toUnixTimestamp64Milli(timestamp), ${MARK})`;

/** Who has an event of a series in an interval and of a value, by the first one. */
function barActorsSql(siteId: string, part: Part<'trends'>, span: TimeSpan, binder: Binder): string {
  const { plan, series, intervalFrom, group } = part;
  const wanted = [
    `series = ${series}`,
    ...(intervalFrom === null ? [] : [`bucket = ${binder.bind(intervalFrom, 'Int64')}`]),
    ...(group === 'other' ? [isRestSql(siteId, plan, binder)] : []),
    ...(group === null || group === 'other'
      ? []
      : [`found = ${digestOfValue(group.value.map((text) => binder.bind(text, 'String')))}`]),
  ];
  const events = seriesEventsSql(siteId, plan, [span], binder, { moment: MOMENT });
  return `SELECT actor, toUInt64(0) AS part, entry.1 AS at, entry.2 AS mark
FROM (SELECT person AS actor, min(moment) AS entry FROM (${events}) WHERE ${allOf(wanted)} GROUP BY person)`;
}

/** Who is in a cohort, by the event that began it; or came back in a later interval, by the first event of that. */
function cohortActorsSql(siteId: string, { plan, cohort, period }: Part<'retention'>, binder: Binder): string {
  const start = binder.time(cohort);
  const { from } = querySpan(plan, binder);
  const place = intervalsUntil(plan.interval, { from, to: start }, plan.calendar, binder);
  const later = `${place} + ${binder.bind(period ?? 0, 'Int64')}`;
  const inCohort = [
    `countIf(isStart AND place = ${place}) > 0`,
    ...(plan.mode === 'recurring' ? [] : [`minIf(place, isStart) = ${place}`]),
  ];
  const persons = `SELECT person, minIf(moment, isStart AND place = ${place}) AS began, groupArrayIf(moment, isBack AND place = ${later}) AS backs
FROM (${startsAndReturnsSql(siteId, plan, binder, { moment: MOMENT })}) GROUP BY person HAVING ${allOf(inCohort)}`;
  const returned = 'arraySort(arrayFilter(x -> x.1 > began.1, backs))';
  const isStart = `${place} >= 0 AND ${startOf(plan.interval, start, plan.calendar, binder)} = ${binder.bind(cohort, 'Int64')}`;
  return `SELECT person AS actor, toUInt64(0) AS part, entry.1 AS at, entry.2 AS mark
FROM (SELECT person, arrayJoin(arraySlice(${period === null ? '[began]' : returned}, 1, 1)) AS entry FROM (${persons}) WHERE ${isStart})`;
}

type WayPart = Extract<ListedPart, { kind: 'paths' }>;

/** Whose paths go a way, by the event with which each came to the last place of it. */
function pathActorsSql(siteId: string, part: WayPart, binder: Binder): string {
  const { plan, place, way, begins, last: finish } = part;
  const others = way.flatMap((text, index) => (text === null ? [place + index] : []));
  const end = place + way.length - 1;
  const whole = 'toInt64(length(entries))';
  const wanted = [
    `${at(place)} >= 1`,
    ...way.map((text, index) => isThere(place + index, text, binder)),
    ...(begins ? [`${at(place)} = greatest(1, ${at(-plan.before)})`] : []),
    ...(others.length === 0
      ? []
      : [
          `NOT hasAny((${shownSql(siteId, plan, others, binder)}), [${others.map((one) => `(toInt64(${one}), ${valueAt(one)})`).join(', ')}])`,
        ]),
    ...(finish === 'ends' ? [`${whole} = ${at(end)}`] : []),
    ...(finish === 'goes_on' ? [`${whole} > ${at(end)}`, `${end} = ${plan.after}`] : []),
  ];
  // Sessions of a person are half an hour apart, so that no two are seen from an event of the same time.
  const session = plan.windowMs === null ? 'entries[anchor].2' : 'toUInt64(0)';
  const entry = `entries[${at(end)}]`;
  return `SELECT actor, ${session} AS part, toInt64(${entry}.2) AS at, ${entry}.3 AS mark
FROM (${enteredPathsSql(siteId, plan, binder)}) WHERE ${allOf(wanted)}`;
}

/** Where in a path's values a place is. */
const at = (place: number): string => `anchor + (${place})`;

function isThere(place: number, text: string | null, binder: Binder): string {
  return text === null ? `${valueAt(place)} != 0` : `${valueAt(place)} = ${digestOfText(binder.bind(text, 'String'))}`;
}

const valueAt = (place: number): string => `entries[${at(place)}].1`;

/** The values of some places that are given one by one, each with its place, as the paths themselves rank them. */
function shownSql(siteId: string, plan: PathsPlan, places: readonly number[], binder: Binder): string {
  const values = `SELECT toInt64(place) AS place, value, count() AS total
FROM (${pathsSql(siteId, plan, binder)}) ARRAY JOIN given AS value, range(first - anchor, first - anchor + length(given)) AS place
WHERE place IN (${places.join(', ')}) GROUP BY place, value`;
  const ranked = `SELECT place, value, row_number() OVER (PARTITION BY place ORDER BY total DESC, texts.text) AS rank
FROM (${values}) AS counted LEFT JOIN (${textsSql(siteId, querySpan(plan, binder), plan.by, binder)}) AS texts ON counted.value = texts.digest`;
  return `SELECT groupArray((place, value)) FROM (${ranked}) WHERE rank <= ${plan.top}`;
}

/** Who is in a part of a chart. */
export const actors = question({
  kind: 'actors',
  summary: 'Who is in a step of a funnel, a bar of trends, a cell of retention or a way of paths, page by page',
  permission: 'query.persons',
  schema: actorsShape,
  answerSchema: actorsAnswerShape,
  check: actorsProblems,
  example: {
    of: {
      funnel: {
        ...EXAMPLE_TIME,
        steps: [{ events: ['add_to_cart'] }, { events: ['purchase'] }],
        window_ms: 7 * 86_400_000,
      },
      step: 2,
      got: 'dropped',
    },
    limit: 50,
  },
  statement: (siteId, query) => actorsStatement(siteId, actorsPlan(query)),
  answer: actorsAnswer,
});
