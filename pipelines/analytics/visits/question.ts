// Visits: the question, its statement and its answer.
import { type Static, Type } from 'typebox';
import { OUR_NAMES } from '../event_names.ts';
import { closed } from '../filters.ts';
import { calendarFields, common, cutOf, EXAMPLE_TIME, eventNames, interval, limitOf, question } from '../question.ts';
import { querySpan, SPILLED, startOf } from '../sql/event_rows.ts';
import { allOf, conditionOf } from '../sql/expressions.ts';
import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { hasSmallCounts, VISIT_VALUES } from './visit_values.ts';
import { attentionSql, countedVisitsSql, VISIT_MARGIN_MS, visitorsSql } from './visits_sql.ts';

const LIMIT = 20;
/** Who stays for less, looks at one page and does nothing that counts, bounced: GA4 calls the others engaged. */
const BOUNCE_MS = 10_000;
/** What counts as a conversion where nothing is named. */
const CONVERSIONS = ['purchase', 'generate_lead', 'sign_up', 'subscribe', 'start_trial'];

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
  kind: 'all' | 'interval' | 'value';
  text: string;
  /** 1: of the values together that are not given one by one. */
  rest: number;
  /** How many these are. */
  texts: number;
  bucket: number;
  visits: number;
  visitors: number;
  bounces: number;
  page_views: number;
  conversions: number;
  /** Of all together, in milliseconds. */
  lasted: string;
  engaged: string;
  /** Of those that say how far somebody scrolled: how many, and the sum of their percents. */
  scrolls: number;
  scrolled: number;
}

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

function figuresOf(row: VisitRow | undefined, attention = false): Figures {
  if (row === undefined) {
    const none = { visits: 0, visitors: 0, bounces: 0, page_views: 0, conversions: 0 };
    return { ...none, duration_ms: null, engaged_ms: null, scroll_percent: null };
  }
  const { visits, visitors, bounces, page_views, conversions, lasted, engaged, scrolls, scrolled } = row;
  return {
    ...{ visits, visitors, bounces, page_views, conversions },
    duration_ms: Number(lasted) / visits,
    engaged_ms: attention ? Number(engaged) / visits : null,
    scroll_percent: scrolls === 0 ? null : scrolled / scrolls,
  };
}

/** The answer from the rows of the statement. */
function visitsAnswer({ attention }: VisitsQuery, rows: readonly VisitRow[]): VisitsAnswer {
  const rest = rows.find((row) => row.rest === 1);
  const of = (kind: VisitRow['kind']): VisitRow[] => rows.filter((row) => row.kind === kind && row.rest === 0);
  return {
    ...figuresOf(of('all')[0], attention),
    intervals: of('interval')
      .toSorted((a, b) => a.bucket - b.bucket)
      .map((row) => ({ from: row.bucket, ...figuresOf(row, attention) })),
    values: of('value').map((row) => ({ value: row.text, ...figuresOf(row, attention) })),
    other: rest === undefined ? null : { values: rest.texts, ...figuresOf(rest, attention) },
  };
}

/** Names of the views of pages and of screens. */
const VIEWS = ['page_view', 'screen_view'].flatMap((ours) => [
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
  const { breakdown, attention = false } = query;
  const plan = cutOf({ ...query, interval: query.interval ?? 'day' });
  const began = "fromUnixTimestamp64Milli(began, 'UTC')";
  const bucket = query.interval === undefined ? '0' : startOf(plan.interval, began, plan.calendar, binder);
  const counted = `SELECT ${breakdown === undefined ? "''" : 'value'} AS of_value, ${bucket} AS bucket, ${statesSql(attention)}
  FROM (${visitsSql(siteId, query, binder)}) GROUP BY of_value, bucket`;
  const isCut = minPersons > 1 && breakdown !== undefined && hasSmallCounts(breakdown.visit);
  const few = isCut
    ? `of_value != '' AND uniqExactMerge(ofVisitors) OVER (PARTITION BY of_value) < ${minPersons}`
    : 'false';
  const totals = `SELECT *, sum(ofVisits) OVER (PARTITION BY of_value) AS total, ${few} AS few FROM (${counted})`;
  const limit = breakdown?.limit ?? LIMIT;
  const ranked = `SELECT *, dense_rank() OVER (ORDER BY few, total DESC, of_value) AS rank, if(few OR rank > ${limit}, 0, rank) AS slot FROM (${totals})`;
  const [isOfValue, isOfInterval] = [breakdown, query.interval].map((by) => by !== undefined);
  const sets = ['()', ...(isOfInterval ? ['(bucket)'] : []), ...(isOfValue ? ['(slot)'] : [])];
  const [byValue, byInterval] = [
    isOfValue ? 'grouping(slot) = 0' : 'false',
    isOfInterval ? 'grouping(bucket) = 0' : 'false',
  ];
  return binder.statement(`SELECT multiIf(${byValue}, 'value', ${byInterval}, 'interval', 'all') AS kind,
  ${isOfValue ? "if(slot = 0, '', any(of_value))" : "''"} AS text, ${isOfValue ? `${byValue} AND slot = 0` : '0'} AS rest, uniqExact(of_value) AS texts,
  ${isOfInterval ? 'bucket' : '0 AS bucket'}, ${FIGURES}
FROM (${ranked}) GROUP BY GROUPING SETS (${sets.join(', ')}) HAVING visits > 0 ORDER BY kind${isOfValue ? ', slot' : ''}
${SPILLED}`);
}

function statesSql(attention: boolean): string {
  const attended = ['sum(engaged)', 'countIf(scrolled >= 0)', 'sumIf(scrolled, scrolled >= 0)'];
  const [engaged, scrolls, scrolled] = attended.map((sum) => (attention ? sum : '0'));
  return `count() AS ofVisits, uniqExactState(visitor) AS ofVisitors,
  countIf(page_views <= 1 AND lasted < ${BOUNCE_MS} AND NOT has_converted) AS ofBounces, sum(page_views) AS ofViews,
  countIf(has_converted) AS ofConversions, sum(lasted) AS ofTime, ${engaged} AS ofEngaged, ${scrolls} AS ofScrolls, ${scrolled} AS ofScrolled`;
}

const FIGURES = `sum(ofVisits) AS visits, uniqExactMerge(ofVisitors) AS visitors, sum(ofBounces) AS bounces, sum(ofViews) AS page_views,
  sum(ofConversions) AS conversions, toString(sum(ofTime)) AS lasted, toString(sum(ofEngaged)) AS engaged, sum(ofScrolls) AS scrolls, sum(ofScrolled) AS scrolled`;

/** A row for each visit that began in the question's time and passes, with its `visitor`, and `engaged` and `scrolled` where asked for. */
function visitsSql(siteId: string, query: VisitsQuery, binder: Binder): string {
  const { filters = [], breakdown, attention = false, conversions = { events: CONVERSIONS } } = query;
  const isOf = (names: readonly string[]): string => `event IN ${binder.bind([...names], 'Array(String)')}`;
  const span = { from: binder.time(query.from - VISIT_MARGIN_MS), to: binder.time(query.to + VISIT_MARGIN_MS) };
  const visits = countedVisitsSql(
    siteId,
    {
      span,
      began: querySpan(query, binder),
      value: breakdown?.visit ?? null,
      isPageView: isOf(VIEWS),
      isConversion: isOf(conversions.events),
      passes: allOf(filters.map((filter) => conditionOf(filter, binder))),
    },
    binder,
  );
  const looks = attention
    ? ` LEFT JOIN (${attentionSql(siteId, span, binder)}) AS looks ON counted.visit_of = looks.attention_of AND counted.began = looks.attention_began`
    : '';
  return `SELECT counted.*, visitors.visitor AS visitor${attention ? ', looks.engaged AS engaged, looks.scrolled AS scrolled' : ''}
FROM (${visits}) AS counted LEFT JOIN (${visitorsSql(siteId, span, binder)}) AS visitors ON counted.visit_of = visitors.visitor_of${looks}`;
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
