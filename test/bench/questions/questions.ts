import type { Filter } from '#pipelines/analytics/filters.ts';
import type { FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { PathsQuery } from '#pipelines/analytics/paths.ts';
import type { ActorsQuery } from '#pipelines/analytics/people/query.ts';
import { QUESTIONS, type Questions } from '#pipelines/analytics/questions.ts';
import type { RetentionQuery } from '#pipelines/analytics/retention.ts';
import type { RevenueQuery } from '#pipelines/analytics/revenue/query.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { VisitsQuery } from '#pipelines/analytics/visits/question.ts';
import { DAY_MS, FROM, LIST, SITE, TO } from './fill.ts';
import { DAYS } from './questions_config.ts';

/** The statement of a question of any kind, for whoever may see persons. */
function statementOf<Kind extends keyof Questions>(kind: Kind, query: Questions[Kind]['query']): Statement {
  const question = QUESTIONS.find((one) => one.kind === kind);
  if (question === undefined) throw new Error(`no question ${kind}`);
  return question.statement(SITE, query as never, 1, TO);
}

/** A question, and the columns that it needs of which rows. */
export interface BenchQuestion {
  name: string;
  statement: Statement;
  needs: Needs;
}

interface Needs {
  columns: readonly string[];
  from: number;
  /** Names of events; null: all. */
  names: readonly string[] | null;
}

const range = { from: TO - DAYS * DAY_MS, to: TO };
const NAMES = ['page_view', 'view_item', 'add_to_cart', 'purchase'];
const MOMENT = ['person_hash', 'event_hash', 'timestamp', 'event'];
const ORDER = [...MOMENT, 'received_at', 'raw_index'];
const property = (name: string) => ({ property: [name] });
const textOf = (name: string): string => `property_texts['${name}']`;

/** Where persons and events are told apart by the digests that rows have, what an analyst's SQL would read. */
const IDS: Readonly<Record<string, string>> = { person_hash: 'arrived_person_id', event_hash: 'sent_id' };

/**
 * The plain scan of what a question needs: one digest of the columns of its rows.
 *
 * @param byDigests With the table's digests of persons and events in place of their ids.
 */
export function scanOf({ columns, from, names }: Needs, byDigests: boolean): string {
  const at = (ms: number): string => `fromUnixTimestamp64Milli(${ms}, 'UTC')`;
  const named = names === null ? '' : ` AND event IN (${names.map((name) => `'${name}'`).join(', ')})`;
  const read = byDigests ? columns : columns.map((column) => IDS[column] ?? column);
  return `SELECT sum(cityHash64(${read.join(', ')})) AS digest FROM event_rows
WHERE site_id = '${SITE}' AND timestamp >= ${at(from)} AND timestamp < ${at(TO)}${named}`;
}

const needs = (
  columns: readonly string[],
  from: number = range.from,
  names: readonly string[] | null = null,
): Needs => ({ columns, from, names });

const steps = NAMES.map((event) => ({ events: [event] }));
const funnel = (name: string, more: Partial<FunnelQuery>, ...columns: string[]): BenchQuestion => ({
  name: `funnel, ${name}`,
  statement: statementOf('funnel', { ...range, steps, window_ms: 7 * DAY_MS, ...more }),
  needs: needs(
    [...ORDER, ...columns],
    range.from,
    more.order === 'strict' || more.count_by === 'session' ? null : NAMES,
  ),
});

function correlationOfValues(filters: Filter[]): BenchQuestion {
  const fields = [property('utm_campaign'), { column: 'country' as const }];
  return {
    name: 'correlation of values',
    statement: statementOf('correlation', { ...range, steps, window_ms: 7 * DAY_MS, fields, filters }),
    needs: needs([...ORDER, textOf('utm_campaign'), 'country']),
  };
}

const FUNNELS: BenchQuestion[] = [
  funnel('four steps', {}),
  funnel('strict order', { order: 'strict' }),
  funnel('any order', { order: 'any' }),
  funnel('by session', { count_by: 'session' }),
  funnel('a step optional, an exclusion', {
    steps: steps.map((step, index) => ({ ...step, optional: index === 1 })),
    exclusions: [{ events: ['search'], after_step: 2, before_step: 3 }],
  }),
  funnel(
    'breakdown by a property',
    { breakdown: { field: property('utm_campaign'), at: 'first_touch' } },
    textOf('utm_campaign'),
  ),
  funnel('each day', { trend: { interval: 'day' } }),
  {
    name: 'correlation of events',
    statement: statementOf('correlation', { ...range, steps: steps.slice(0, 2), window_ms: 7 * DAY_MS }),
    needs: needs(ORDER),
  },
  correlationOfValues([]),
];

const trends = (
  name: string,
  more: Partial<TrendsQuery>,
  columns: readonly string[],
  names: string[] | null = null,
  from: number = range.from,
): BenchQuestion => ({
  name: `trends, ${name}`,
  statement: statementOf('trends', { ...range, interval: 'day', series: [{}], ...more }),
  needs: needs([...MOMENT, ...columns], from, names),
});
const measured = (of: 'sum' | 'average' | 'min' | 'max' | 'median' | 'p99'): BenchQuestion =>
  trends(`${of} of a number`, { series: [{ measure: { of, field: property('load_ms') } }] }, [textOf('load_ms')]);

const TRENDS: BenchQuestion[] = [
  trends('events', {}, []),
  trends('persons', { series: [{ events: ['page_view'], measure: { of: 'persons' } }] }, [], ['page_view']),
  ...(['sum', 'average', 'min', 'max', 'median', 'p99'] as const).map(measured),
  trends('different values', { series: [{ measure: { of: 'unique', field: property('utm_campaign') } }] }, [
    textOf('utm_campaign'),
  ]),
  trends('breakdown by country', { breakdown: { field: { column: 'country' }, limit: 5 } }, ['country']),
  trends('breakdown by two properties', { breakdown: { fields: [property('$browser'), property('plan')], limit: 5 } }, [
    textOf('$browser'),
    textOf('plan'),
  ]),
  trends('breakdown by 3,000 addresses', { breakdown: { field: property('$current_url'), limit: 10 } }, [
    textOf('$current_url'),
  ]),
  trends(
    'a formula of two series, the time before',
    {
      series: [{ events: ['purchase'] }, { events: ['page_view'] }],
      formulas: ['A / B'],
      compare: 'previous',
    },
    [],
    ['purchase', 'page_view'],
    range.from - DAYS * DAY_MS,
  ),
  trends('a filter on a property', { filters: [{ field: property('plan'), is: 'equal', to: ['pro'] }] }, [
    textOf('plan'),
  ]),
  trends(
    'a filter on a value of persons',
    {
      filters: [
        {
          field: { person: property('plan'), seen: 'last', among: { siteId: SITE, before: TO, since: range.from } },
          is: 'equal',
          to: ['pro'],
        },
      ],
    },
    ['received_at', 'raw_index', textOf('plan')],
    null,
    FROM,
  ),
];

/** What visits are made of. */
const VISIT = [...ORDER, 'visit_key', 'arrival'];
const PAGE = ['$current_url', 'page_location', 'url'].map(textOf);
const among = { siteId: SITE, before: TO, since: range.from };

const visits = (name: string, more: Partial<VisitsQuery>, columns: readonly string[]): BenchQuestion => ({
  name: `visits, ${name}`,
  statement: statementOf('visits', { ...range, ...more }),
  needs: needs([...VISIT, ...columns]),
});

const VISITS: BenchQuestion[] = [
  visits('by channel', { breakdown: { visit: 'channel' } }, []),
  visits('by landing page, each day', { interval: 'day', breakdown: { visit: 'landing_page' } }, PAGE),
  visits('with attention', { attention: true }, [
    ...['engagement_time_msec', '$prev_pageview_duration'].map(textOf),
    ...['percent_scrolled', '$prev_pageview_max_scroll_percentage'].map(textOf),
  ]),
  trends('by source of visits', { breakdown: { field: { visit: 'source', among } } }, [...VISIT]),
  trends('by landing page of visits', { breakdown: { field: { visit: 'landing_page', among } } }, [...VISIT, ...PAGE]),
  trends(
    "by persons' first source",
    { breakdown: { field: { person: { visit: 'source' }, seen: 'first', among } } },
    [...ORDER, 'arrival'],
    null,
    FROM,
  ),
  trends(
    "by persons' first campaign as sent",
    { breakdown: { field: { person: property('utm_campaign'), seen: 'first', among } } },
    [...ORDER, textOf('utm_campaign')],
    null,
    FROM,
  ),
];

const retention = (mode: NonNullable<RetentionQuery['mode']>): BenchQuestion => ({
  name: `retention, ${mode}, weeks`,
  statement: statementOf('retention', {
    ...range,
    interval: 'week',
    mode,
    start: { events: ['page_view'] },
    back: { events: ['view_item'] },
  }),
  needs: needs(MOMENT, mode === 'first_ever' ? FROM : range.from, ['page_view', 'view_item']),
});

const paths = (name: string, more: Partial<PathsQuery>, column: string): BenchQuestion => ({
  name: `paths, ${name}`,
  statement: statementOf('paths', { ...range, ...more }),
  needs: needs([...ORDER, column]),
});

const actors = (name: string, of: ActorsQuery['of'], columns: readonly string[], names: string[]): BenchQuestion => ({
  name: `list, ${name}`,
  statement: statementOf('actors', { of }),
  needs: needs([...columns, 'event_id', 'distinct_id', 'arrived_person_id'], range.from, names),
});
const funnelQuery: FunnelQuery = { ...range, steps, window_ms: 7 * DAY_MS };
const trendsQuery: TrendsQuery = { ...range, interval: 'day', series: [{ events: ['purchase'] }] };

/** It reads the orders of 400 days before, too. */
const revenue = (name: string, more: Partial<RevenueQuery>, columns: readonly string[]): BenchQuestion => ({
  name: `revenue, ${name}`,
  statement: statementOf('revenue', { ...range, interval: 'day', ...more }),
  needs: needs([...ORDER, 'value', 'currency', 'order_id', textOf('tax'), textOf('shipping'), ...columns], FROM, [
    'purchase',
    'refund',
  ]),
});

/** Who did something three times and something else never, lives somewhere, and is not on a list. */
const REGULARS: Filter = {
  field: {
    cohort: 'regulars',
    rule: {
      siteId: SITE,
      match: 'all',
      parts: [
        { did: { events: ['view_item'] }, is: 'at_least', times: 3, from: TO - 3 * DAYS * DAY_MS, to: TO },
        { did: { events: ['purchase'] }, is: 'exactly', times: 0, from: TO - 3 * DAYS * DAY_MS, to: TO },
        {
          field: { person: { column: 'country' }, seen: 'last', among: { siteId: SITE, before: null, since: 0 } },
          is: 'equal',
          to: ['DE', 'FR'],
        },
        { field: { cohort: 'staff', rule: { siteId: SITE, list: LIST } }, is: 'not_in' },
      ],
    },
  },
  is: 'in',
};
/** What tells who is in it, of all events of the site. */
const OF_COHORT = [...ORDER, 'country', 'email_sha256', 'phone_hmac', 'external_id_sha256'];
const ofCohort = ({ name, statement, needs: own }: BenchQuestion): BenchQuestion => ({
  name: `${name} of a cohort`,
  statement,
  needs: needs([...new Set([...OF_COHORT, ...own.columns])], FROM),
});
const BY_CAMPAIGN = { filters: [REGULARS], breakdown: { field: property('utm_campaign') } };
const COHORTS: BenchQuestion[] = [
  trends('events', { filters: [REGULARS] }, []),
  trends('by a property', BY_CAMPAIGN, [textOf('utm_campaign')]),
  funnel('four steps', { filters: [REGULARS] }),
  correlationOfValues([REGULARS]),
  visits('by channel', { filters: [REGULARS], breakdown: { visit: 'channel' } }, []),
  revenue('by a property, the time before', { ...BY_CAMPAIGN, compare: 'previous' }, [textOf('utm_campaign')]),
].map(ofCohort);

const SESSIONS: BenchQuestion = {
  name: 'sessions by SQL',
  statement: {
    sql: `SELECT toDate(started_at) AS day, count() AS sessions, avg(events) AS events FROM
      sessions_between(begin = fromUnixTimestamp64Milli(${range.from}, 'UTC'), end = fromUnixTimestamp64Milli(${range.to}, 'UTC'))
      WHERE site_id = '${SITE}' GROUP BY day ORDER BY day`,
    parameters: {},
  },
  needs: needs([...ORDER, 'event_id', 'arrived_person_id']),
};

/** What a list shows of each event, but for its properties. */
const LISTED = [
  ...['event_id', 'event', 'timestamp', 'received_at', 'raw_index', 'distinct_id', 'arrived_person_id'],
  ...['action_source', 'mode', 'country', 'value', 'currency', 'order_id'],
];

/** @param visitor One of the site's. */
export function questionsAbout(visitor: string): BenchQuestion[] {
  return [
    ...FUNNELS,
    ...TRENDS,
    ...VISITS,
    ...(['first', 'recurring', 'first_ever'] as const).map(retention),
    {
      name: 'stickiness, days',
      statement: statementOf('stickiness', { ...range, interval: 'day', series: [{ events: ['page_view'] }] }),
      needs: needs(MOMENT, range.from, ['page_view']),
    },
    {
      name: 'lifecycle, weeks',
      statement: statementOf('lifecycle', { ...range, interval: 'week', events: ['page_view'] }),
      needs: needs(MOMENT, FROM, ['page_view']),
    },
    paths('of names, by session', { starting_at: 'page_view' }, 'event'),
    paths('of addresses, a day', { by: property('$current_url'), window_ms: DAY_MS }, textOf('$current_url')),
    {
      name: 'top campaigns by events',
      statement: statementOf('top', { ...range, field: property('utm_campaign') }),
      needs: needs([...MOMENT, textOf('utm_campaign')]),
    },
    {
      name: 'top addresses by value',
      statement: statementOf('top', { ...range, field: property('$current_url'), by: 'value' }),
      needs: needs([...MOMENT, textOf('$current_url'), 'value']),
    },
    revenue('days', {}, []),
    revenue('by a property, the time before', { compare: 'previous', breakdown: { field: property('utm_campaign') } }, [
      textOf('utm_campaign'),
    ]),
    ...COHORTS,
    actors('who dropped at a step', { funnel: funnelQuery, step: 3, got: 'dropped' }, ORDER, NAMES),
    actors('who is in a bar', { trends: trendsQuery, series: 1 }, ORDER, ['purchase']),
    {
      name: 'timeline of a visitor',
      statement: statementOf('timeline', { ...range, distinct_id: visitor }),
      needs: needs(['distinct_id', 'timestamp']),
    },
    {
      name: 'live',
      statement: statementOf('live', { received_after: TO - DAY_MS, limit: 50 }),
      needs: needs([...LISTED, 'properties'], TO - DAY_MS),
    },
    SESSIONS,
  ];
}
