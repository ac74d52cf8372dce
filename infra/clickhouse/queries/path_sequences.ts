import { SESSION_GAP_MS } from '#pipelines/query/funnel_plan.ts';
import type { PathsPlan } from '#pipelines/query/paths.ts';
import { allOf, conditionOf, selects, textOf } from './conditions.ts';
import { firstRowsSql } from './first_rows.ts';
import { askedSpan } from './interval_starts.ts';
import { actorOf, digestOf, markOf, maskOf, packed, personArraysSql, timeOf } from './packed_events.ts';
import type { Binder } from './statement.ts';
import { digestOfText } from './text_digests.ts';

/**
 * A row for each path: `given`, digests of the values that are given of it, of which the one at `first` of all is the first and
 * the one at `anchor` the one that it is seen from, and whether it `goes_on` behind them.
 */
export function pathsSql(siteId: string, plan: PathsPlan, binder: Binder): string {
  const { before, after } = plan;
  const place = plan.anchor === null ? 'notEmpty(values)' : anchorIn('values', plan.anchor, binder);
  return `SELECT toInt64(${place}) AS anchor, greatest(1, anchor - ${before}) AS first,
  arraySlice(values, first, anchor + ${after} - first + 1) AS given, length(values) > anchor + ${after} AS goes_on
FROM (SELECT arrayCompact(${nearSql(plan, binder)}) AS values FROM (${sequencesSql(siteId, plan, binder)}))
WHERE anchor > 0`;
}

const anchorIn = (digests: string, anchor: string, binder: Binder): string =>
  `indexOf(${digests}, ${digestOfText(binder.bind(anchor, 'String'))})`;

/**
 * A row for each path with its `actor`, and as `entries` the event by which it came to each of its places: the digest of the
 * place's value, the time and the mark. The one at `anchor` is that which the path is seen from.
 */
export function enteredPathsSql(siteId: string, plan: PathsPlan, binder: Binder): string {
  const events = 'arrayZip(deeds, times, marks)';
  const near = nearSql(plan, binder, events);
  const place = plan.anchor === null ? 'notEmpty(entries)' : anchorIn('entries.1', plan.anchor, binder);
  return `SELECT actor, entries, toInt64(${place}) AS anchor
FROM (SELECT actor, arrayCompact(x -> x.1, ${near}) AS entries FROM (${sequencesSql(siteId, plan, binder, true)}))
WHERE anchor > 0`;
}

/** Of a sequence's events, or of something of each, what may be part of its path: on the sides of the anchor that are given, and in the window. */
function nearSql({ anchor, before, after, windowMs }: PathsPlan, binder: Binder, events = 'deeds'): string {
  const at = anchor === null ? '1' : anchorIn('deeds', anchor, binder);
  const sides =
    anchor === null ? [] : [...(before === 0 ? [`i >= ${at}`] : []), ...(after === 0 ? [`i <= ${at}`] : [])];
  const distance = `abs(toInt64(time) - toInt64(times[${at}]))`;
  const near = [...sides, ...(windowMs === null ? [] : [`${distance} <= ${binder.bind(windowMs, 'Int64')}`])];
  return near.length === 0
    ? events
    : `arrayFilter((event, time, i) -> ${allOf(near)}, ${events}, times, arrayEnumerate(deeds))`;
}

/**
 * `deeds`, digests of the texts of each session's events in order, or of each person's where there is a window, and `times`, when
 * they happened. Sessions are made of all events; then those without a text go.
 *
 * @param isListed Whether it has `actor` and `marks` besides, which tell whose and which events these are.
 */
function sequencesSql(siteId: string, plan: PathsPlan, binder: Binder, isListed = false): string {
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const passes = allOf([...filters, selects(plan.selection, binder)]);
  const isBySession = plan.windowMs === null;
  const digest = binder.name(digestOfText(textOf(plan.by, binder)));
  const entries = firstRowsSql(
    {
      siteId,
      span: askedSpan(plan, binder),
      selections: [isBySession ? {} : plan.selection],
      conditions: isBySession ? [] : [passes],
      columns: {
        actor: 'actor',
        entry: packed(isBySession ? `toUInt16(${passes})` : 'toUInt16(1)', digest),
      },
    },
    binder,
  );
  const pauses = `arrayDifference(arrayMap(x -> ${timeOf('x')}, packed))`;
  const parts = isBySession ? `arraySplit((x, pause) -> pause > ${SESSION_GAP_MS}, packed, ${pauses})` : '[packed]';
  const valued = `SELECT arrayFilter(x -> ${digestOf('x')} != 0 AND ${maskOf('x')} = 1, part) AS valued
FROM (${personArraysSql(entries, [])}) ARRAY JOIN ${parts} AS part`;
  const each = (of: (event: string) => string): string => `arrayMap(x -> ${of('x')}, valued)`;
  const known = isListed ? [`${actorOf('valued[1]')} AS actor`, `${each(markOf)} AS marks`] : [];
  return `SELECT ${[`${each(digestOf)} AS deeds`, `${each(timeOf)} AS times`, ...known].join(', ')}
FROM (${valued}) WHERE notEmpty(valued)`;
}
