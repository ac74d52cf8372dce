import type { ListedPart } from '#pipelines/query/actor_lists.ts';
import type { FunnelPlan } from '#pipelines/query/funnel_plan.ts';
import { allOf } from './conditions.ts';
import { breakdownTextsSql } from './funnel_actors.ts';
import { attemptsSql } from './funnel_statement.ts';
import { askedSpan, intervalsUntil, startOf, type TimeSpan } from './interval_starts.ts';
import { actorOf, MARK, markOf, timeOf } from './packed_events.ts';
import { startsAndReturnsSql } from './retention_statement.ts';
import { digestOfValue, seriesEventsSql } from './series_events.ts';
import type { Binder } from './statement.ts';
import { digestOfText } from './text_digests.ts';
import { isRestSql } from './trends_statement.ts';

type Part<Kind extends ListedPart['kind']> = Extract<ListedPart, { kind: Kind }>;

/** Who reached a step, by the event that did; or who reached the one before and not this, by the event of that one. A step that may be left out is none before. */
export function funnelActorsSql(siteId: string, part: Part<'funnel'>, binder: Binder): string {
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
  const places = [...new Set([1, last])].map((reached) => `place${reached}`);
  const attempts = `SELECT ${columns.join(', ')}
FROM (${attemptsSql(siteId, plan, binder, places, ['packed'])})`;
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
export function barActorsSql(siteId: string, part: Part<'trends'>, span: TimeSpan, binder: Binder): string {
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
export function cohortActorsSql(siteId: string, { plan, cohort, period }: Part<'retention'>, binder: Binder): string {
  const start = binder.time(cohort);
  const { from } = askedSpan(plan, binder);
  const place = intervalsUntil(plan.interval, { from, to: start }, plan.timeZone, binder);
  const later = `${place} + ${binder.bind(period ?? 0, 'Int64')}`;
  const inCohort = [
    `countIf(isStart AND place = ${place}) > 0`,
    ...(plan.mode === 'recurring' ? [] : [`minIf(place, isStart) = ${place}`]),
  ];
  const persons = `SELECT person, minIf(moment, isStart AND place = ${place}) AS began, groupArrayIf(moment, isBack AND place = ${later}) AS backs
FROM (${startsAndReturnsSql(siteId, plan, binder, { moment: MOMENT })}) GROUP BY person HAVING ${allOf(inCohort)}`;
  const returned = 'arraySort(arrayFilter(x -> x.1 > began.1, backs))';
  const isStart = `${place} >= 0 AND ${startOf(plan.interval, start, plan.timeZone, binder)} = ${binder.bind(cohort, 'Int64')}`;
  return `SELECT person AS actor, toUInt64(0) AS part, entry.1 AS at, entry.2 AS mark
FROM (SELECT person, arrayJoin(arraySlice(${period === null ? '[began]' : returned}, 1, 1)) AS entry FROM (${persons}) WHERE ${isStart})`;
}
