// Visits: the question, its statement and its answer.
import { type Static, Type } from 'typebox';
import { hasSmallCounts, VISIT_VALUES } from '#pipelines/visits/arrival.ts';
import { OUR_NAMES, withEveryName } from '../event_names.ts';
import { closed } from '../filters.ts';
import { calendarFields, common, cutOf, EXAMPLE_TIME, eventNames, interval, limitOf, question } from '../question.ts';
import { querySpan, SPILLED, startOf } from '../sql/event_rows.ts';
import { allOf, conditionOf } from '../sql/expressions.ts';
import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { countedVisitsSql, type OfVisit, VISIT_MARGIN_MS, visitorsSql } from './visits_sql.ts';

const LIMIT = 20;
/** Who stays for less, looks at one page and does nothing that counts, bounced: GA4 calls the others engaged. */
const BOUNCE_MS = 10_000;
/** What counts as a conversion where nothing is named. */
const CONVERSIONS = withEveryName({
  events: ['purchase', 'generate_lead', 'sign_up', 'subscribe', 'start_trial'],
}).events;

const schema = closed({
  ...common,
  interval: Type.Optional(interval),
  ...calendarFields,
  breakdown: Type.Optional(closed({ visit: Type.Enum([...VISIT_VALUES]), limit: limitOf(LIMIT) })),
  conversions: Type.Optional(closed({ events: eventNames })),
  attention: Type.Optional(
    Type.Boolean({ description: 'True: also how long pages were looked at, and how far down', default: false }),
  ),
});
export type VisitsQuery = Static<typeof schema>;

/** What is counted of some visits. */
interface VisitRow {
  /** All; of an interval by its start; of a value by its place among the greatest, from 1; 0: of all others together. */
  of: [kind: 'all' | 'interval' | 'value', bucket: number, slot: number];
  /** The value; any of them where there are several. */
  text: string;
  /** How many there are. */
  texts: number;
  visitors: number;
  /** In the order of NUMBERS. */
  numbers: number[];
}

/**
 * What is summed of each visit, over visitsSql: times in milliseconds; where attention is asked for, whether it says how far somebody
 * scrolled, and these percents.
 */
const NUMBERS = {
  visits: '1',
  bounces: `page_views <= 1 AND lasted < ${BOUNCE_MS} AND NOT has_converted`,
  page_views: 'page_views',
  conversions: 'has_converted',
  lasted: 'lasted',
  engaged: 'engaged',
  scrolls: 'scrolled >= 0',
  scrolled: 'greatest(0, scrolled)',
} as const;
const OF_ATTENTION = 3;

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const measured = (description: string) => Type.Union([Type.Number(), Type.Null()], { description });
const figures = {
  visits: count('Visits that began in the time'),
  visitors: count('Different persons; of a visit the one whom its browser, or session, belonged to last'),
  bounces: count('Visits of one page view at most, of less than ten seconds and without a conversion'),
  page_views: count('Views of pages and of screens'),
  conversions: count('Visits with a conversion'),
  duration_ms: measured('From the first event of a visit to its last, on average; null without visits'),
  engaged_ms: measured('How long pages were in view, on average; null where it was not asked for'),
  scroll_percent: measured('How far down a page of a visit was scrolled at the most, on average of those that say so'),
};

const answerSchema = Type.Object({
  ...figures,
  intervals: Type.Array(Type.Object({ from: Type.Integer(), ...figures }), {
    description: 'In which visits began, where there are such',
  }),
  values: Type.Array(
    Type.Object({ value: Type.String({ description: 'Empty for visits that have none' }), ...figures }),
    {
      description: 'Those of most visits first',
    },
  ),
  other: Type.Union([Type.Object({ values: Type.Integer({ minimum: 1 }), ...figures }), Type.Null()], {
    description: 'All other values together, and how many they are; null where there are none',
  }),
});
export type VisitsAnswer = Static<typeof answerSchema>;

type Figures = Pick<VisitsAnswer, keyof typeof figures>;

function figuresOf(row: VisitRow | undefined): Figures {
  const [visits = 0, bounces = 0, views = 0, conversions = 0, lasted = 0, engaged, scrolls = 0, scrolled = 0] =
    row?.numbers ?? [];
  return {
    ...{ visits, visitors: row?.visitors ?? 0, bounces, page_views: views, conversions },
    duration_ms: visits === 0 ? null : lasted / visits,
    engaged_ms: visits === 0 || engaged === undefined ? null : engaged / visits,
    scroll_percent: scrolls === 0 ? null : scrolled / scrolls,
  };
}

/** The answer from the rows of the statement. */
function visitsAnswer(_query: VisitsQuery, rows: readonly VisitRow[]): VisitsAnswer {
  const of = (kind: VisitRow['of'][0]): VisitRow[] => rows.filter((row) => row.of[0] === kind);
  const values = of('value').toSorted((a, b) => a.of[2] - b.of[2]);
  const rest = values.find((row) => row.of[2] === 0);
  return {
    ...figuresOf(of('all')[0]),
    intervals: of('interval')
      .map((row) => ({ from: row.of[1], ...figuresOf(row) }))
      .sort((a, b) => a.from - b.from),
    values: values.filter((row) => row !== rest).map((row) => ({ value: row.text, ...figuresOf(row) })),
    other: rest === undefined ? null : { values: rest.texts, ...figuresOf(rest) },
  };
}

/** Names of the views of pages and of screens. */
export const VIEWS = ['page_view', 'screen_view'].flatMap((ours) => [
  ours,
  ...[...OUR_NAMES].filter(([, name]) => name === ours).map(([other]) => other),
]);

/**
 * The statement of visits. Each visit is counted once under its value and interval; of these few groups the greatest are found and
 * the others put together. Rows: VisitRow.
 *
 * @param minPersons Of a value that few persons may have, those that fewer have are with the rest.
 */
function visitsStatement(siteId: string, query: VisitsQuery, minPersons = 1): Statement {
  const binder = createBinder();
  const { breakdown, interval: unit } = query;
  const began = "fromUnixTimestamp64Milli(began, 'UTC')";
  const bucket = unit === undefined ? '0' : startOf(unit, began, cutOf({ ...query, interval: unit }).calendar, binder);
  const counted = `SELECT ${breakdown === undefined ? "''" : 'value'} AS said, ${bucket} AS bucket, sumForEach(numbers) AS sums, uniqExactState(visitor) AS visitors
  FROM (${visitsSql(siteId, query, binder)}) GROUP BY said, bucket`;
  const kinds = [
    "'all'",
    ...(unit === undefined ? [] : ["'interval'"]),
    ...(breakdown === undefined ? [] : ["'value'"]),
  ];
  return binder.statement(`SELECT of, any(said) AS text, uniqExact(said) AS texts, uniqExactMerge(visitors) AS visitors, sumForEach(sums) AS numbers
FROM (SELECT (kind, if(kind = 'interval', bucket, 0), if(kind = 'value', slot, 0)) AS of, said, visitors, sums
  FROM (${rankedSql(counted, breakdown, minPersons)}) ARRAY JOIN [${kinds.join(', ')}] AS kind) GROUP BY of
${SPILLED}`);
}

/** The same rows with the place of their value among the greatest, from 1, as `slot`; 0 of those that are not given one by one. */
function rankedSql(counted: string, breakdown: VisitsQuery['breakdown'], minPersons: number): string {
  if (breakdown === undefined) return `SELECT *, 0 AS slot FROM (${counted})`;
  const few =
    minPersons > 1 && hasSmallCounts(breakdown.visit)
      ? `said != '' AND uniqExactMerge(visitors) OVER value < ${minPersons}`
      : 'false';
  return `SELECT *, if(few OR rank > ${breakdown.limit ?? LIMIT}, 0, rank) AS slot
  FROM (SELECT *, dense_rank() OVER (ORDER BY few, total DESC, said) AS rank
    FROM (SELECT *, sum(sums[1]) OVER value AS total, ${few} AS few FROM (${counted}) WINDOW value AS (PARTITION BY said)))`;
}

/** A row for each visit that began in the question's time and passes: `began`, `visitor`, `numbers`, and `value` where asked for. */
function visitsSql(siteId: string, query: VisitsQuery, binder: Binder): string {
  const { filters = [], breakdown, attention = false, conversions = { events: CONVERSIONS } } = query;
  const isOf = (names: readonly string[]): string => `event IN ${binder.bind([...names], 'Array(String)')}`;
  const span = querySpan({ from: query.from - VISIT_MARGIN_MS, to: query.to + VISIT_MARGIN_MS }, binder);
  const visits = countedVisitsSql(
    siteId,
    {
      span,
      began: querySpan(query, binder),
      value: (breakdown as OfVisit | undefined) ?? null,
      attention,
      isPageView: isOf(VIEWS),
      isConversion: isOf(conversions.events),
      passes: allOf(filters.map((filter) => conditionOf(filter, binder))),
    },
    binder,
  );
  const numbers = Object.values(NUMBERS).slice(0, attention ? undefined : -OF_ATTENTION);
  return `SELECT began, visitor, [${numbers.join(', ')}] AS numbers${breakdown === undefined ? '' : ', value'}
FROM (${visits}) AS counted LEFT JOIN (${visitorsSql(siteId, span, binder)}) AS visitors ON counted.visit_of = visitors.visitor_of`;
}

/** Visits, by how they came, where they began and what was done in them. */
export const visits = question({
  kind: 'visits',
  summary: 'Visits by source, channel, page or device: visitors, bounces, page views, conversions, duration',
  schema,
  answerSchema,
  example: {
    ...EXAMPLE_TIME,
    interval: 'day',
    time_zone: 'Europe/Brussels',
    breakdown: { visit: 'channel', limit: 10 },
  },
  statement: visitsStatement,
  answer: visitsAnswer,
  suppressesSmallCounts: true,
  reads: ({ from, to }) => ({ from: Math.max(0, from - VISIT_MARGIN_MS), to: to + VISIT_MARGIN_MS }),
});
