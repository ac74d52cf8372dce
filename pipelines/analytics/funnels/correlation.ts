// Correlation: what goes with converting in a funnel.

import { type Static, Type } from 'typebox';
import { fieldShape } from '../filters.ts';
import { EXAMPLE_TIME, limitOf, question } from '../question.ts';
import { digestOfText, NO_DIGEST } from '../sql/event_rows.ts';
import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { breakdownTextsSql, fieldOf } from './levels_sql.ts';
import { type FunnelPlan, type FunnelQuery, funnelPlan, funnelProblems, funnelShape } from './query.ts';
import { attemptsSql, spanOf } from './sql.ts';

const FIELDS_MAX = 5;
/** Events, or values of a field, that are looked at: the commonest. */
const CANDIDATES_MAX = 200;
const ACTORS_MIN = 10;
const ROWS = 20;

const { from, to, filters, fresh, steps, window_ms, order, exclusions } = funnelShape.properties;

const schema = Type.Object(
  {
    ...{ from, to, filters, fresh, steps, window_ms, order, exclusions },
    fields: Type.Optional(
      Type.Array(fieldShape, {
        description: 'Whose values at the first step are compared; events of other names where not given',
        minItems: 1,
        maxItems: FIELDS_MAX,
      }),
    ),
    actors_min: Type.Optional(
      Type.Integer({ description: 'Fewer persons say nothing', minimum: 1, maximum: 1_000_000, default: ACTORS_MIN }),
    ),
    limit: limitOf(ROWS),
  },
  { additionalProperties: false },
);
export type CorrelationQuery = Static<typeof schema>;

/** A row of the statement: of everyone, or of those with an event or value. */
export interface CorrelationRow {
  isAll: number;
  /** Of the query's fields, from 0. */
  field: number;
  text: string;
  actors: number;
  converted: number;
}

const persons = (description: string) => Type.Integer({ description, minimum: 0 });

const candidateShape = Type.Object({
  field: Type.Union([fieldShape, Type.Null()], { description: 'Null: the value is the name of an event' }),
  value: Type.String(),
  persons: persons('Who began and had it'),
  converted: persons('How many of them got to the last step'),
  odds_ratio: Type.Number({ description: 'Odds of converting with it, divided by those without it' }),
  odds_ratio_low: Type.Number({ description: 'Lower end of its 95 % confidence interval' }),
  odds_ratio_high: Type.Number({ description: 'Upper end of it' }),
});

/** The answer to what goes with converting. */
const answerSchema = Type.Object({
  persons: persons('Who began'),
  converted: persons('How many of them got to the last step'),
  candidates: Type.Array(candidateShape, { description: 'The strongest first, for and against converting' }),
  more_candidates: Type.Boolean({ description: 'Whether some were not looked at or are not shown' }),
});
export type CorrelationAnswer = Static<typeof answerSchema>;
type Candidate = Static<typeof candidateShape>;

/** What a correlation asks for, as docs/analytics.md defines it. */
export interface CorrelationPlan {
  /** By the name of an event, or by the fields. */
  funnel: FunnelPlan;
  /** Whether events between the first step and the end are compared, and not values. */
  ofEvents: boolean;
  actorsMin: number;
  /** One more than are looked at, to know whether there are more. */
  candidatesMax: number;
}

export function correlationPlan(query: CorrelationQuery): CorrelationPlan {
  const common = { actorsMin: query.actors_min ?? ACTORS_MIN, candidatesMax: CANDIDATES_MAX + 1 };
  const [field = { column: 'event' as const }, ...besides] = query.fields ?? [];
  const funnel = { ...funnelPlan({ ...funnelOf(query), breakdown: { field, at: 'first_step' } }), besides };
  if (query.fields !== undefined) return { ...common, ofEvents: false, funnel };
  return { ...common, ofEvents: true, funnel: { ...funnel, looked: 'passing' } };
}

function funnelOf({ fields: _fields, actors_min: _min, limit: _limit, ...funnel }: CorrelationQuery): FunnelQuery {
  return funnel;
}

/** The answer from the rows of the statement. */
export function correlationAnswer(query: CorrelationQuery, rows: readonly CorrelationRow[]): CorrelationAnswer {
  const all = rows.find(({ isAll }) => isAll === 1) ?? { actors: 0, converted: 0 };
  const byField = Map.groupBy(
    rows.filter(({ isAll }) => isAll === 0),
    ({ field }) => field,
  );
  const looked = [...byField.values()].flatMap((some) => some.slice(0, CANDIDATES_MAX));
  const candidates = looked
    .map((row): Candidate => {
      const { text: value, actors, converted } = row;
      return {
        field: query.fields?.[row.field] ?? null,
        value,
        persons: actors,
        converted,
        ...oddsRatio(row, all),
      };
    })
    .sort((a, b) => strength(b) - strength(a) || b.persons - a.persons || (a.value < b.value ? -1 : 1));
  const limit = query.limit ?? ROWS;
  return {
    persons: all.actors,
    converted: all.converted,
    candidates: candidates.slice(0, limit),
    more_candidates: candidates.length > limit || [...byField.values()].some((some) => some.length > CANDIDATES_MAX),
  };
}

interface Counted {
  actors: number;
  converted: number;
}

/** Standard normal quantile of 97.5 %. */
const Z = 1.959964;

/**
 * The odds ratio of the table of having and not having, converting and not converting, each count and a half (Haldane and
 * Anscombe), as one of them may be 0, with its interval by Woolf's method.
 */
function oddsRatio(having: Counted, all: Counted): Pick<Candidate, `odds_ratio${'' | '_low' | '_high'}`> {
  const cells = [
    having.converted,
    having.actors - having.converted,
    all.converted - having.converted,
    all.actors - having.actors - (all.converted - having.converted),
  ].map((count) => count + 0.5);
  const [a = 1, b = 1, c = 1, d = 1] = cells;
  const ratio = (a * d) / (b * c);
  const reach = Math.exp(Z * Math.sqrt(cells.reduce((sum, cell) => sum + 1 / cell, 0)));
  return {
    odds_ratio: rounded(ratio),
    odds_ratio_low: rounded(ratio / reach),
    odds_ratio_high: rounded(ratio * reach),
  };
}

/** To four significant digits: counts of persons say no more. */
const rounded = (value: number): number => Number(value.toPrecision(4));

/** How far from 1 a ratio is, either way; to a millionth, as it is ordered by this. */
const strength = ({ odds_ratio }: Candidate): number => Math.round(Math.abs(Math.log(odds_ratio)) * 1e6);

/**
 * The statement of what goes with converting, as docs/analytics.md defines it. Rows: CorrelationRow.
 *
 * @param minPersons Of a field that can have values of few persons, those that fewer have are left out.
 */
export function correlationStatement(siteId: string, plan: CorrelationPlan, minPersons = 1): Statement {
  const binder = createBinder();
  const { funnel } = plan;
  const last = funnel.steps.length;
  const having = plan.ofEvents ? eventsSql(siteId, funnel, binder) : valuesSql(siteId, funnel, binder);
  const counted = `SELECT field, pair.1 AS isAll, pair.2 AS value, count() AS actors, countIf(reached[${last}]) AS converted
FROM (${having}) ARRAY JOIN arrayConcat([(1, ${NO_DIGEST})], arrayMap(x -> (0, x), having)) AS pair
GROUP BY field, isAll, value HAVING isAll OR actors >= ${plan.actorsMin}`;
  const texts = breakdownTextsSql(siteId, funnel, binder, minPersons);
  const ofField = funnel.besides.length === 0 ? '' : ' AND counted.field = texts.field';
  return binder.statement(`SELECT isAll, counted.field AS field, texts.text AS text, actors, converted
FROM (${counted}) AS counted LEFT JOIN (${texts}) AS texts ON counted.value = texts.digest${ofField}
WHERE counted.value = 0 OR notEmpty(texts.text)
ORDER BY field, isAll DESC, actors DESC, text LIMIT ${plan.candidatesMax} BY field, isAll`);
}

/** `field`, `reached` and the digest of the only value that an attempt `having` it began with. */
function valuesSql(siteId: string, funnel: FunnelPlan, binder: Binder): string {
  const attempts = attemptsSql(siteId, funnel, binder, {
    more: [`${fieldOf(funnel)} AS field`],
    kept: funnel.besides.length === 0 ? [] : ['packed'],
  });
  return `SELECT field, reached, [value] AS having FROM (${attempts})`;
}

/**
 * `field`, `reached` and the digests of the names of events after the attempt's beginning and before its end: before the last step, or,
 * where it did not get there, within the window. What the steps name is left out, as all who convert have it.
 */
function eventsSql(siteId: string, funnel: FunnelPlan, binder: Binder): string {
  const last = funnel.steps.length;
  const starts = `[${funnel.steps.map((_, index) => `start${index + 1}`).join(', ')}]`;
  const began = `${starts}[arrayLastIndex(x -> x, reached)] AS began`;
  const until = `if(reached[${last}], end${last}, began + ${spanOf(funnel, binder)}) AS until`;
  const attempts = attemptsSql(siteId, funnel, binder, { more: ['digests', 'stamp', began, until] });
  const names = binder.bind([...new Set(funnel.steps.flatMap(({ events = [] }) => events))], 'Array(String)');
  return `SELECT 0 AS field, reached, arrayDistinct(arrayFilter((x, s) -> s > began AND s < until AND NOT has(arrayMap(name -> ${digestOfText('name')}, ${names}), x), digests, stamp)) AS having
FROM (${attempts})`;
}

/** What goes with converting. */
export const correlation = question({
  kind: 'correlation',
  summary: 'Which events, or which values, go with getting to the last step of a funnel, or with not getting there',
  schema,
  answerSchema,
  check: (query) => funnelProblems(funnelOf(query)),
  example: {
    ...EXAMPLE_TIME,
    steps: [{ events: ['page_view'] }, { events: ['purchase'] }],
    window_ms: 7 * 86_400_000,
    fields: [{ property: ['utm_campaign'] }, { column: 'country' }],
    actors_min: 100,
  },
  statement: (siteId, query, minPersons) => correlationStatement(siteId, correlationPlan(query), minPersons),
  answer: correlationAnswer,
  suppressesSmallCounts: true,
});
