import type { PathsPlan } from '#pipelines/query/paths.ts';
import { askedSpan } from './interval_starts.ts';
import { pathsSql } from './path_sequences.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';
import { NO_DIGEST, textsSql } from './text_digests.ts';

/**
 * The statement of paths, as docs/analytics.md defines them. Rows: PathRow. A path of n values is n + 1 steps from one to the
 * next: the first from nothing and the last to nothing, so that the paths at a value are both those that go in and those
 * that go out.
 *
 * Steps are gathered by the value at one of their ends, values are put in order, and steps of all that are not given become one;
 * then the same by the value at the other end. Values are far fewer than pairs of them, and numbers are all that is gathered.
 *
 * @param leastPersons Of a field that can have values of few persons, those that fewer have are with all others.
 */
export function pathsStatement(siteId: string, plan: PathsPlan, leastPersons = 1): Statement {
  const binder = createBinder();
  const listed = textsSql(siteId, askedSpan(plan, binder), plan.by, binder, {
    leastPersons,
    filters: plan.filters,
  });
  // As an array, which is worked out once for both ends.
  const texts = `SELECT pair.1 AS digest, pair.2 AS text FROM (SELECT arrayJoin((SELECT groupArray((digest, text)) FROM (${listed}))) AS pair)`;
  const bySource = `SELECT place, source, count() AS total, groupArray(target) AS targets, groupArray(goes_on) AS goings
FROM (${stepsSql(siteId, plan, binder)}) GROUP BY place, source`;
  const byTarget = `SELECT place, target, sum(went) AS total, groupArray((source_slot, source_given, source_texts, went, going_on)) AS steps
FROM (SELECT place, source_slot, target, any(source_given) AS source_given, any(source_texts) AS source_texts,
    count() AS went, countIf(going) AS going_on
  FROM (${rankedSql(bySource, 'source', texts, plan)}) ARRAY JOIN targets AS target, goings AS going
  GROUP BY place, source_slot, target)
GROUP BY place, target`;
  return binder.statement(`SELECT place, ${kindOf('step.1', plan)} AS from_kind, any(step.2) AS from_text,
  ${kindOf('target_slot', plan)} AS to_kind, any(target_given) AS to_text,
  sum(step.4) AS paths, sum(step.5) AS going_on, any(step.3) AS texts
FROM (${rankedSql(byTarget, 'target', texts, plan)}) ARRAY JOIN steps AS step
GROUP BY place, step.1, target_slot`);
}

/** A row for each step of a path: its place, digests of its `source` and `target`, and whether its path `goes_on`. */
function stepsSql(siteId: string, plan: PathsPlan, binder: Binder): string {
  return `SELECT toInt8(place) AS place, source, target, goes_on
FROM (${pathsSql(siteId, plan, binder)})
ARRAY JOIN arrayPushFront(given, ${NO_DIGEST}) AS source, arrayPushBack(given, ${NO_DIGEST}) AS target,
  range(first - anchor - 1, first - anchor + length(given)) AS place`;
}

/**
 * The rows of `values` with the slot of each value: 0 where a path begins or ends, then its rank among those of the place, the
 * commonest first, and one more than are given for all others. `_given` is its text where it is given, and `_texts` how many
 * there are at the place.
 *
 * @param values A SELECT of a row for each `place` and value at the `end`, with the `total` of its steps.
 * @param texts A SELECT of the `text` of each `digest`.
 */
function rankedSql(values: string, end: 'source' | 'target', texts: string, { top }: PathsPlan): string {
  // A value without a text, as few persons have it.
  const isFew = `${end} != 0 AND empty(text)`;
  const ranked = `SELECT *, ${isFew} AS few, if(${end} = 0, 0, row_number() OVER (PARTITION BY place, ${end} = 0 ORDER BY ${isFew}, total DESC, text)) AS rank
FROM (SELECT counted.*, texts.text AS text FROM (${values}) AS counted LEFT JOIN (${texts}) AS texts ON counted.${end} = texts.digest)`;
  return `SELECT *, toUInt32(if(few, ${top} + 1, least(rank, ${top} + 1))) AS ${end}_slot, if(rank <= ${top}, text, '') AS ${end}_given,
  max(rank) OVER (PARTITION BY place) AS ${end}_texts
FROM (${ranked})`;
}

const kindOf = (slot: string, { top }: PathsPlan): string =>
  `multiIf(${slot} = 0, 'none', ${slot} <= ${top}, 'value', 'other')`;
