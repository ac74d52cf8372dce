// Paths: the query, its statement and its answer.

import { type Static, Type } from 'typebox';
import { type Problem, unless } from '#pipelines/settings/problems.ts';
import { OUR_NAMES } from './event_names.ts';
import { closed, type Field, fieldShape } from './filters.ts';
import { SESSION_GAP_MS } from './funnels/query.ts';
import { withText } from './pages/page_sql.ts';
import {
  common,
  EXAMPLE_TIME,
  eventNames,
  question,
  RANGE_MS_MAX,
  type Scope,
  type Selection,
  scopeOf,
  selectionOf,
} from './question.ts';
import {
  actorOf,
  digestOf,
  digestOfText,
  firstRowsSql,
  markOf,
  maskOf,
  NO_DIGEST,
  packed,
  personArraysSql,
  querySpan,
  timeOf,
} from './sql/event_rows.ts';
import { allOf, conditionOf, selects, textOf, textsSql } from './sql/expressions.ts';
import { type Binder, createBinder, type Statement } from './sql/statement.ts';

const STEPS = 5;
export const STEPS_MAX = 10;
const NODES = 10;
const NODES_MAX = 50;

const node = (description: string) => Type.Optional(Type.String({ description, minLength: 1, maxLength: 1_000 }));

export const pathsShape = closed({
  ...common,
  events: Type.Optional(eventNames),
  by: Type.Optional(fieldShape),
  starting_at: node('Paths from the first event of this text on'),
  ending_at: node('Paths up to the first event of this text'),
  through: node('Both sides of the first event of this text'),
  window_ms: Type.Optional(
    Type.Integer({
      description: "How far from that event, or from the person's first one; a session where not given",
      minimum: 0,
      maximum: RANGE_MS_MAX,
    }),
  ),
  steps: Type.Optional(
    Type.Integer({ description: 'How many on each side', minimum: 1, maximum: STEPS_MAX, default: STEPS }),
  ),
  top: Type.Optional(
    Type.Integer({ description: 'Values of a place that are given', minimum: 1, maximum: NODES_MAX, default: NODES }),
  ),
});
export type PathsQuery = Static<typeof pathsShape>;

/** Paths with everything decided that their question leaves open. */
export interface PathsPlan extends Scope {
  selection: Selection;
  by: Field;
  /** The text that paths are seen from; null: their beginning. */
  anchor: string | null;
  /** How many steps are given before it, and after it. */
  before: number;
  after: number;
  /** How far from the anchor events may lie; null: as far as the session does. */
  windowMs: number | null;
  top: number;
}

export function pathsPlan(query: PathsQuery): PathsPlan {
  const { by = { column: 'event' }, starting_at, ending_at, through, steps = STEPS } = query;
  const given = starting_at ?? ending_at ?? through;
  return {
    ...scopeOf(query),
    selection: selectionOf(query),
    by,
    anchor: given === undefined ? null : shownText(by, given),
    before: ending_at === undefined && through === undefined ? 0 : steps,
    after: ending_at === undefined ? steps : 0,
    windowMs: query.window_ms ?? null,
    top: query.top ?? NODES,
  };
}

/** A text of a place as paths show it: of an event's name ours. */
export function shownText(by: Field, text: string): string {
  const isOfNames = 'column' in by && by.column === 'event';
  return isOfNames ? (OUR_NAMES.get(text) ?? text) : text;
}

/** What of a question of paths no schema can say. */
export function pathsProblems(query: PathsQuery): Problem[] {
  const given = (['starting_at', 'ending_at', 'through'] as const).filter((name) => query[name] !== undefined);
  return unless(given.length < 2, 'field_malformed', given[1] ?? '', 'is one too many: there is another such text');
}

/** What a place of a path is: where it begins or ends, a value that is given, or one of the others. */
type End = 'none' | 'value' | 'other';

/** How many paths go from one value to the next. */
export interface PathRow {
  /** The place of the source: 0 is the anchor's. */
  place: number;
  from_kind: End;
  from_text: string;
  to_kind: End;
  to_text: string;
  paths: number;
  /** How many of those that end here go on behind the last step. */
  going_on: number;
  /** How many values there are at the place of the source. */
  texts: number;
}

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const nodeFigures = {
  paths: count('Of which this is a place'),
  begins: count('Of them, those that are given from here on'),
  ends: count('Of them, those after which nothing follows'),
  goes_on: count('Of them, those that go on behind the last step that is given'),
};

/** The answer to paths. */
const answerSchema = Type.Object({
  paths: count('All paths: one for each session, or person where there is a window'),
  places: Type.Array(
    Type.Object({
      place: Type.Integer({ description: '0: the event that paths are seen from; before it less' }),
      values: Type.Array(Type.Object({ value: Type.String(), ...nodeFigures }), { description: 'The commonest first' }),
      other: Type.Union([Type.Object({ values: count('How many'), ...nodeFigures }), Type.Null()]),
    }),
  ),
  edges: Type.Array(
    Type.Object({
      place: Type.Integer({ description: 'Of from; to is at the next one' }),
      from: Type.Union([Type.String(), Type.Null()], { description: 'Null: the other values' }),
      to: Type.Union([Type.String(), Type.Null()]),
      paths: count('That go this way'),
    }),
    {
      description:
        'The commonest first. Those into a value and what begins there are its paths, as are those out of it and what ends or goes on',
    },
  ),
});
export type PathsAnswer = Static<typeof answerSchema>;

/** The answer from the rows of the statement. */
function pathsAnswer(query: PathsQuery, rows: readonly PathRow[]): PathsAnswer {
  const { top } = pathsPlan(query);
  const byPlace = Map.groupBy(rows, ({ place }) => place);
  const places = [...byPlace.keys()].toSorted((a, b) => a - b);
  return {
    paths: sum(rows.filter(({ from_kind }) => from_kind === 'none')),
    places: places.flatMap((place) => {
      const out = (byPlace.get(place) ?? []).filter(({ from_kind }) => from_kind !== 'none');
      const into = byPlace.get(place - 1) ?? [];
      return out.length === 0 ? [] : [placeOf(place, out, into, top)];
    }),
    edges: rows
      .filter(({ from_kind, to_kind }) => from_kind !== 'none' && to_kind !== 'none')
      .map((row) => ({
        place: row.place,
        from: row.from_kind === 'other' ? null : row.from_text,
        to: row.to_kind === 'other' ? null : row.to_text,
        paths: row.paths,
      }))
      .toSorted((a, b) => b.paths - a.paths || a.place - b.place || byText(a.from, b.from) || byText(a.to, b.to)),
  };
}

/** The others, which are null, last. */
function byText(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -1 : 1;
}

function placeOf(
  place: number,
  out: readonly PathRow[],
  into: readonly PathRow[],
  top: number,
): PathsAnswer['places'][number] {
  const figures = (kind: End, text: string) => {
    const leaving = out.filter((row) => row.from_kind === kind && row.from_text === text);
    const ending = leaving.filter(({ to_kind }) => to_kind === 'none');
    const goesOn = ending.reduce((total, { going_on }) => total + going_on, 0);
    const begun = into.filter((row) => row.from_kind === 'none' && row.to_kind === kind && row.to_text === text);
    return { paths: sum(leaving), begins: sum(begun), ends: sum(ending) - goesOn, goes_on: goesOn };
  };
  const texts = new Set(out.filter(({ from_kind }) => from_kind === 'value').map(({ from_text }) => from_text));
  const values = [...texts].map((value) => ({ value, ...figures('value', value) }));
  const all = out[0]?.texts ?? 0;
  return {
    place,
    values: values.toSorted((a, b) => b.paths - a.paths || byText(a.value, b.value)),
    other: all <= top ? null : { values: all - top, ...figures('other', '') },
  };
}

function sum(rows: readonly PathRow[]): number {
  return rows.reduce((total, { paths }) => total + paths, 0);
}

/**
 * The statement of paths, as docs/analytics.md defines them. Rows: PathRow. A path of n values is n + 1 steps from one to the
 * next: the first from nothing and the last to nothing, so that the paths at a value are both those that go in and those
 * that go out.
 *
 * Steps are gathered by the value at one of their ends, values are put in order, and steps of all that are not given become one;
 * then the same by the value at the other end. Values are far fewer than pairs of them, and numbers are all that is gathered.
 *
 * @param minPersons Of a field that can have values of few persons, those that fewer have are with all others.
 */
export function pathsStatement(siteId: string, plan: PathsPlan, minPersons = 1): Statement {
  const binder = createBinder();
  const listed = textsSql(siteId, querySpan(plan, binder), plan.by, binder, {
    minPersons,
    filters: plan.filters,
  });
  const texts = `SELECT pair.1 AS digest, pair.2 AS text FROM (SELECT arrayJoin(${binder.scalar(`SELECT groupArray((digest, text)) FROM (${listed})`)}) AS pair)`;
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
  // A value without a text is one that few persons have.
  return `SELECT counted.*, ${end} != 0 AND empty(text) AS few,
  if(${end} = 0, 0, row_number() OVER (PARTITION BY place, ${end} = 0 ORDER BY few, total DESC, text)) AS rank,
  toUInt32(if(few, ${top} + 1, least(rank, ${top} + 1))) AS ${end}_slot, if(rank <= ${top}, text, '') AS ${end}_given,
  countIf(${end} != 0) OVER (PARTITION BY place) AS ${end}_texts
FROM (${values}) AS counted LEFT JOIN (${texts}) AS texts ON counted.${end} = texts.digest`;
}

const kindOf = (slot: string, { top }: PathsPlan): string =>
  `multiIf(${slot} = 0, 'none', ${slot} <= ${top}, 'value', 'other')`;

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

/**
 * Of a sequence's events, or of something of each, what may be part of its path: on the sides of the anchor that are given,
 * and in the window.
 */
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
  const text = textOf(plan.by, binder);
  const mask = isBySession ? `toUInt16(${passes})` : 'toUInt16(1)';
  // A page by rules is long, and would be analysed for each time that it is named.
  const isByRules = 'pages' in plan.by && plan.by.pages !== undefined;
  const entry = isByRules
    ? `${withText(withText(text, digestOfText), (digest) => packed('toUInt16(0)', digest), 'digest')} + ${mask}`
    : packed(mask, binder.name(digestOfText(text)));
  const entries = firstRowsSql(
    {
      siteId,
      span: querySpan(plan, binder),
      selections: [isBySession ? {} : plan.selection],
      conditions: isBySession ? [] : [passes],
      columns: {
        actor: 'actor',
        entry,
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

/** Which ways people go. */
export const paths = question({
  kind: 'paths',
  summary: 'Which way people go from, to and through an event or a page',
  schema: pathsShape,
  answerSchema,
  check: pathsProblems,
  example: { ...EXAMPLE_TIME, starting_at: 'add_to_cart', steps: 4, top: 8 },
  statement: (siteId, query, minPersons) => pathsStatement(siteId, pathsPlan(query), minPersons),
  answer: pathsAnswer,
  suppressesSmallCounts: true,
});
