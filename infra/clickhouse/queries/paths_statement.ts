import { SESSION_GAP_MS } from '#pipelines/query/funnel_plan.ts';
import type { PathsPlan } from '#pipelines/query/paths.ts';
import { allOf, conditionOf, selects, textOf } from './conditions.ts';
import { firstRowsSql } from './first_rows.ts';
import { askedSpan } from './interval_starts.ts';
import { packed, personArraysSql, timeOf } from './packed_events.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/**
 * The statement of paths, as docs/analytics.md defines them. Rows: PathRow. A path of n values is n + 1 steps from one to the
 * next: the first from nothing and the last to nothing, so that the paths at a value are both those that go in and those
 * that go out.
 */
export function pathsStatement(siteId: string, plan: PathsPlan): Statement {
  const binder = createBinder();
  const counted = `SELECT place, source, target, count() AS went, countIf(goes_on) AS going_on
FROM (${pathsSql(siteId, plan, binder)})
ARRAY JOIN arrayPushFront(given, '') AS source, arrayPushBack(given, '') AS target, range(first - anchor - 1, first - anchor + length(given)) AS place
GROUP BY place, source, target`;
  const totals = `SELECT *, sum(went) OVER (PARTITION BY place, source) AS out, sum(went) OVER (PARTITION BY place, target) AS into FROM (${counted})`;
  const ranked = `SELECT *, ${rankOf('source', 'out')} AS source_rank, ${rankOf('target', 'into')} AS target_rank FROM (${totals})`;
  const named = `SELECT place, ${kindOf('source', plan)} AS from_kind, ${kindOf('target', plan)} AS to_kind,
  if(from_kind = 'value', source, '') AS from_text, if(to_kind = 'value', target, '') AS to_text, went, going_on,
  max(source_rank) OVER (PARTITION BY place) AS texts
FROM (${ranked})`;
  return binder.statement(`SELECT place, from_kind, from_text, to_kind, to_text, sum(went) AS paths, sum(going_on) AS going_on, any(texts) AS texts
FROM (${named}) GROUP BY place, from_kind, from_text, to_kind, to_text`);
}

/** The commonest first; the beginning or the end of paths has no rank. */
const rankOf = (text: string, total: string): string =>
  `if(${text} = '', 0, dense_rank() OVER (PARTITION BY place, ${text} = '' ORDER BY ${total} DESC, ${text}))`;

const kindOf = (text: string, { top }: PathsPlan): string =>
  `multiIf(${text} = '', 'none', ${text}_rank <= ${top}, 'value', 'other')`;

/**
 * A row for each path: `given`, the values that are given of it, of which the one at `first` of all is the first and the one at
 * `anchor` the one that it is seen from, and whether it `goes_on` behind them.
 */
function pathsSql(siteId: string, plan: PathsPlan, binder: Binder): string {
  const { before, after } = plan;
  const place = plan.anchor === null ? 'notEmpty(texts)' : anchorIn('texts', plan.anchor, binder);
  return `SELECT toInt64(${place}) AS anchor, greatest(1, anchor - ${before}) AS first,
  arraySlice(texts, first, anchor + ${after} - first + 1) AS given, length(texts) > anchor + ${after} AS goes_on
FROM (SELECT arrayCompact(${nearSql(plan, binder)}) AS texts FROM (${sequencesSql(siteId, plan, binder)}))
WHERE anchor > 0`;
}

const anchorIn = (texts: string, anchor: string, binder: Binder): string =>
  `indexOf(${texts}, ${binder.bind(anchor, 'String')})`;

/** The texts of a sequence's events that may be part of its path: on the sides of the anchor that are given, and in the window. */
function nearSql({ anchor, before, after, windowMs }: PathsPlan, binder: Binder): string {
  const at = anchor === null ? '1' : anchorIn('deeds', anchor, binder);
  const sides = [...(before === 0 ? [`i >= ${at}`] : []), ...(after === 0 ? [`i <= ${at}`] : [])];
  const distance = `abs(toInt64(time) - toInt64(times[${at}]))`;
  const near = [...sides, ...(windowMs === null ? [] : [`${distance} <= ${binder.bind(windowMs, 'Int64')}`])];
  return near.length === 0
    ? 'deeds'
    : `arrayFilter((text, time, i) -> ${allOf(near)}, deeds, times, arrayEnumerate(deeds))`;
}

/**
 * `deeds`, texts of the events of each session in order, or of each person where there is a window, and `times`, when they
 * happened. Sessions are made of all events; then those without a text go.
 */
function sequencesSql(siteId: string, plan: PathsPlan, binder: Binder): string {
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const passes = allOf([...filters, selects(plan.selection, binder)]);
  const isBySession = plan.windowMs === null;
  const text = textOf(plan.by, binder);
  const entries = firstRowsSql(
    {
      siteId,
      span: askedSpan(plan, binder),
      selections: [isBySession ? {} : plan.selection],
      conditions: isBySession ? [] : [passes],
      columns: {
        actor: 'actor',
        entry: packed('toUInt16(0)'),
        text: isBySession ? `if(${passes}, ${text}, '')` : text,
      },
    },
    binder,
  );
  const persons = `SELECT arrayMap(x -> ${timeOf('x')}, packed) AS person_times, texts AS person_texts
FROM (${personArraysSql(entries, { hasTexts: true, wanted: [] })})`;
  const [parts, partTimes] = ['person_texts', 'person_times'].map((name) =>
    isBySession
      ? `arraySplit((x, pause) -> pause > ${SESSION_GAP_MS}, ${name}, arrayDifference(person_times))`
      : `[${name}]`,
  );
  return `SELECT arrayFilter(x -> x != '', part) AS deeds, arrayFilter((x, text) -> text != '', part_times, part) AS times
FROM (${persons}) ARRAY JOIN ${parts} AS part, ${partTimes} AS part_times WHERE notEmpty(deeds)`;
}
