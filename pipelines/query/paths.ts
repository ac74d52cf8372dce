import { type Static, Type } from 'typebox';
import { type Problem, unless } from '#pipelines/settings/problem.ts';
import { rangeProblems } from './check.ts';
import { OUR_NAMES } from './event_names.ts';
import { closed, type Field, fieldShape } from './filter_shapes.ts';
import { type Scope, scopeOf } from './scope.ts';
import { common, eventNames, RANGE_MS_MAX, type Selection } from './shapes.ts';

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
  const { events, by = { column: 'event' }, starting_at, ending_at, through, steps = STEPS } = query;
  const given = starting_at ?? ending_at ?? through;
  return {
    ...scopeOf(query),
    selection: events === undefined ? {} : { events },
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

/** What of a question of paths no shape can say. */
export function pathsProblems(query: PathsQuery): Problem[] {
  const given = (['starting_at', 'ending_at', 'through'] as const).filter((name) => query[name] !== undefined);
  return [
    ...rangeProblems(query),
    ...unless(given.length < 2, 'field_malformed', given[1] ?? '', 'is one too many: there is another such text'),
  ];
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
export const pathsAnswerShape = Type.Object({
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
export type PathsAnswer = Static<typeof pathsAnswerShape>;

/** The answer from the rows of the statement. */
export function pathsAnswer(query: PathsQuery, rows: readonly PathRow[]): PathsAnswer {
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
