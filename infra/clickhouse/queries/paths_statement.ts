import { SESSION_GAP_MS } from '#pipelines/query/funnel_plan.ts';
import type { PathsPlan } from '#pipelines/query/paths.ts';
import { allOf, conditionOf, selects, textOf } from './conditions.ts';
import { firstRowsSql } from './first_rows.ts';
import { askedSpan } from './interval_starts.ts';
import { digestOf, packed, personArraysSql, timeOf } from './packed_events.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';
import { digestOfText, NO_DIGEST, textsSql } from './text_digests.ts';

/**
 * The statement of paths, as docs/analytics.md defines them. Rows: PathRow. A path of n values is n + 1 steps from one to the
 * next: the first from nothing and the last to nothing, so that the paths at a value are both those that go in and those
 * that go out.
 */
export function pathsStatement(siteId: string, plan: PathsPlan): Statement {
  const binder = createBinder();
  const texts = textsSql(siteId, askedSpan(plan, binder), plan.by, binder);
  const steps = `SELECT place, source, target, count() AS went, countIf(goes_on) AS going_on
FROM (${pathsSql(siteId, plan, binder)})
ARRAY JOIN arrayPushFront(given, ${NO_DIGEST}) AS source, arrayPushBack(given, ${NO_DIGEST}) AS target,
  range(first - anchor - 1, first - anchor + length(given)) AS place
GROUP BY place, source, target`;
  return binder.statement(`WITH (SELECT (groupArray(digest), groupArray(text)) FROM (${texts})) AS known
SELECT place, ${kindOf('source_slot', plan)} AS from_kind, any(source_text) AS from_text,
  ${kindOf('target_slot', plan)} AS to_kind, any(target_text) AS to_text,
  sum(went) AS paths, sum(going_on) AS going_on, any(source_texts) AS texts
FROM (${rankedSql(rankedSql(steps, 'source', plan), 'target', plan)})
GROUP BY place, source_slot, target_slot`);
}

/**
 * Puts the values at one end of the steps in order, the commonest first, and steps of all that are not given together: in place
 * of `source` or `target`, a digest, there are its slot (0 where a path begins or ends, then its rank, one more than are
 * given for all others), its text where it is given, and how many there are at the place. Values are far fewer than
 * steps, so steps are gathered by value while these are put in order.
 */
function rankedSql(steps: string, end: 'source' | 'target', { top }: PathsPlan): string {
  const others = end === 'source' ? ['target'] : ['source_slot', 'source_text', 'source_texts'];
  const columns = [...others, 'went', 'going_on'];
  const byValue = `SELECT place, ${end}, sum(went) AS total, groupArray((${columns.join(', ')})) AS steps
FROM (${steps}) GROUP BY place, ${end}`;
  const ranked = `SELECT *, if(${end} = 0, 0, row_number() OVER (PARTITION BY place, ${end} = 0 ORDER BY total DESC, text)) AS rank
FROM (SELECT *, transform(${end}, known.1, known.2, '') AS text FROM (${byValue}))`;
  const placed = `SELECT *, max(rank) OVER (PARTITION BY place) AS ${end}_texts FROM (${ranked})`;
  const given = columns.map((column, index) => `step.${index + 1} AS ${column}`);
  const grouped = columns.filter((column) => !['went', 'going_on'].includes(column));
  return `SELECT place, ${end}_slot, any(${end}_text) AS ${end}_text, any(${end}_texts) AS ${end}_texts, ${grouped.join(', ')},
  sum(went) AS went, sum(going_on) AS going_on
FROM (SELECT place, toUInt32(least(rank, ${top} + 1)) AS ${end}_slot, if(rank <= ${top}, text, '') AS ${end}_text,
  ${end}_texts, ${given.join(', ')} FROM (${placed}) ARRAY JOIN steps AS step)
GROUP BY place, ${end}_slot, ${grouped.join(', ')}`;
}

const kindOf = (slot: string, { top }: PathsPlan): string =>
  `multiIf(${slot} = 0, 'none', ${slot} <= ${top}, 'value', 'other')`;

/**
 * A row for each path: `given`, digests of the values that are given of it, of which the one at `first` of all is the first and
 * the one at `anchor` the one that it is seen from, and whether it `goes_on` behind them.
 */
function pathsSql(siteId: string, plan: PathsPlan, binder: Binder): string {
  const { before, after } = plan;
  const place = plan.anchor === null ? 'notEmpty(values)' : anchorIn('values', plan.anchor, binder);
  return `SELECT toInt64(${place}) AS anchor, greatest(1, anchor - ${before}) AS first,
  arraySlice(values, first, anchor + ${after} - first + 1) AS given, length(values) > anchor + ${after} AS goes_on
FROM (SELECT arrayCompact(${nearSql(plan, binder)}) AS values FROM (${sequencesSql(siteId, plan, binder)}))
WHERE anchor > 0`;
}

const anchorIn = (digests: string, anchor: string, binder: Binder): string =>
  `indexOf(${digests}, ${digestOfText(binder.bind(anchor, 'String'))})`;

/** The values of a sequence's events that may be part of its path: on the sides of the anchor that are given, and in the window. */
function nearSql({ anchor, before, after, windowMs }: PathsPlan, binder: Binder): string {
  const at = anchor === null ? '1' : anchorIn('deeds', anchor, binder);
  const sides = [...(before === 0 ? [`i >= ${at}`] : []), ...(after === 0 ? [`i <= ${at}`] : [])];
  const distance = `abs(toInt64(time) - toInt64(times[${at}]))`;
  const near = [...sides, ...(windowMs === null ? [] : [`${distance} <= ${binder.bind(windowMs, 'Int64')}`])];
  return near.length === 0
    ? 'deeds'
    : `arrayFilter((value, time, i) -> ${allOf(near)}, deeds, times, arrayEnumerate(deeds))`;
}

/**
 * `deeds`, digests of the texts of each session's events in order, or of each person's where there is a window, and `times`, when
 * they happened. Sessions are made of all events; then those without a text go.
 */
function sequencesSql(siteId: string, plan: PathsPlan, binder: Binder): string {
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const passes = allOf([...filters, selects(plan.selection, binder)]);
  const isBySession = plan.windowMs === null;
  const digest = digestOfText(textOf(plan.by, binder));
  const entries = firstRowsSql(
    {
      siteId,
      span: askedSpan(plan, binder),
      selections: [isBySession ? {} : plan.selection],
      conditions: isBySession ? [] : [passes],
      columns: {
        actor: 'actor',
        entry: packed('toUInt16(0)', isBySession ? `if(${passes}, ${digest}, ${NO_DIGEST})` : digest),
      },
    },
    binder,
  );
  const pauses = `arrayDifference(arrayMap(x -> ${timeOf('x')}, packed))`;
  const parts = isBySession ? `arraySplit((x, pause) -> pause > ${SESSION_GAP_MS}, packed, ${pauses})` : '[packed]';
  const valued = `SELECT arrayFilter(x -> ${digestOf('x')} != 0, part) AS valued
FROM (${personArraysSql(entries, [])}) ARRAY JOIN ${parts} AS part`;
  return `SELECT arrayMap(x -> ${digestOf('x')}, valued) AS deeds, arrayMap(x -> ${timeOf('x')}, valued) AS times
FROM (${valued}) WHERE notEmpty(valued)`;
}
