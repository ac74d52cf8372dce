import type { Filter } from '#pipelines/analytics/filters.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { PAGE_PARAMETERS_MAX, PAGE_RULES_MAX } from '#pipelines/settings/page_rules.ts';
import type { PageRules } from '#schemas/setting.ts';
import { queryRoutes } from '#services/control/queries/routes.ts';

const DAY_MS = 86_400_000;
const TO = Date.UTC(2026, 9, 1);
const RANGE = { from: TO - 30 * DAY_MS, to: TO };
const SITE = 'shop';

const property = (...path: string[]) => ({ property: path });
const CAMPAIGN = property('utm_campaign');
const PLAN: Filter = { field: { person: property('plan'), seen: 'last' }, is: 'equal', to: ['pro', 'team'] };
const CAME_BY: Filter = {
  field: { person: property('utm', 'campaign'), seen: 'first' },
  is: 'containing',
  to: 'spring',
  ignore_case: true,
};
const SPENT: Filter = { field: { person: { column: 'value' }, seen: 'last' }, is: 'at_least', to: 100 };
const LANDED: Filter = {
  field: { person: { ...property('$referrer'), part: 'other_host' }, seen: 'first' },
  is: 'not_matching',
  to: 'google',
};
const SINCE: Filter = { field: { person: property('since'), seen: 'last' }, is: 'before', to: '2026-03-31' };

/** Conditions of a whole question; all that are on persons are as many as there may be. */
const FILTERS = {
  none: [],
  property: [{ field: property('plan'), is: 'equal', to: ['pro', 12.5] }],
  person: [PLAN],
  persons: [{ any: [PLAN, CAME_BY, { field: { column: 'country' }, is: 'equal', to: ['DE'] }] }],
  'a cohort': [{ field: { cohort: 'regulars' }, is: 'in' }],
  'five persons': [PLAN, CAME_BY, SPENT, LANDED, SINCE],
} satisfies Record<string, Filter[]>;
export type Filtered = keyof typeof FILTERS;

/** Cohorts of the site: the one that the documentation has, and the list that it names. */
const COHORTS = [
  {
    ...{ site_id: SITE, id: 'regulars', version: 1, list: null },
    definition: JSON.stringify({
      ...{ id: 'regulars', name: 'Regulars', match: 'all' },
      conditions: [
        { did: { events: ['purchase'] }, is: 'at_least', times: 3, last_days: 90 },
        { did: { events: ['refund'] }, is: 'exactly', times: 0, since: '2027-01-01', until: '2027-03-31' },
        { field: { person: { column: 'geo_country' }, seen: 'last' }, is: 'equal', to: ['BE'] },
        { field: { cohort: 'staff' }, is: 'not_in' },
      ],
    }),
  },
  {
    ...{ site_id: SITE, id: 'staff', version: 1, list: 'staff.0123456789abcdefghij' },
    definition: JSON.stringify({ id: 'staff', name: 'Staff' }),
  },
];

const named = (...events: string[]) => ({ events });
const STEPS = [named('page_view'), named('view_item'), named('add_to_cart'), named('purchase')];
const FUNNEL = { ...RANGE, steps: STEPS, window_ms: 7 * DAY_MS };
const OPTIONAL = STEPS.map((step, index) => ({ ...step, optional: index === 1 }));
const REFUNDED = { events: ['refund'], after_step: 2, before_step: 3 };
const broken = (at: string, more: object = {}) => ({ breakdown: { field: CAMPAIGN, at, ...more } });
const TRENDS = { ...RANGE, interval: 'day', series: [named('purchase')] };
const AB = [named('purchase'), { ...named('page_view'), measure: { of: 'persons' } }];
const SUMMED = { ...named('purchase'), measure: { of: 'sum', field: property('total') } };
const RETENTION = { ...RANGE, interval: 'week', start: named('page_view'), back: named('purchase') };
const PATHS = { ...RANGE, starting_at: 'page_view' };
const IN_THREE = { breakdown: { fields: [property('$browser'), property('plan'), { column: 'country' }], limit: 5 } };

/** What docs/analytics.md lets ask, each kind by the name of its route. */
const QUESTIONS: readonly [route: string, name: string, query: object][] = [
  ['funnel', 'four steps', FUNNEL],
  ['funnel', 'strict order', { ...FUNNEL, order: 'strict' }],
  ['funnel', 'any order', { ...FUNNEL, order: 'any' }],
  ['funnel', 'by session', { ...FUNNEL, count_by: 'session' }],
  ['funnel', 'a step optional, an exclusion', { ...FUNNEL, steps: OPTIONAL, exclusions: [REFUNDED] }],
  ['funnel', 'an exclusion of actors', { ...FUNNEL, exclusions: [{ ...REFUNDED, ends: 'actor' }] }],
  ['funnel', 'by the value at the first step', { ...FUNNEL, ...broken('first_step') }],
  ['funnel', 'by the value at a step', { ...FUNNEL, ...broken('step', { step: 2 }) }],
  ['funnel', 'by the first touch, each day', { ...FUNNEL, ...broken('first_touch'), trend: { interval: 'day' } }],
  ['funnel', 'by the last touch of a time before', { ...FUNNEL, ...broken('last_touch', { lookback_ms: DAY_MS }) }],
  ['funnel', 'each day', { ...FUNNEL, trend: { interval: 'day' } }],
  ['correlation', 'events', FUNNEL],
  ['correlation', 'two fields', { ...FUNNEL, fields: [CAMPAIGN, property('$browser')] }],
  ['trends', 'events', TRENDS],
  ['trends', 'a sum', { ...TRENDS, series: [SUMMED] }],
  [
    'trends',
    'a quantile, rolling',
    { ...TRENDS, series: [{ measure: { of: 'p90', field: property('load_ms') } }], rolling: 7 },
  ],
  ['trends', 'different values', { ...TRENDS, series: [{ measure: { of: 'unique', field: CAMPAIGN } }] }],
  ['trends', 'a formula, the time before', { ...TRENDS, series: AB, formulas: ['A / B'], compare: 'previous' }],
  ['trends', 'by a property', { ...TRENDS, series: [SUMMED], breakdown: { field: CAMPAIGN } }],
  ['trends', 'by three fields, the time before', { ...TRENDS, ...IN_THREE, compare: 'previous' }],
  ['visits', 'by channel', { ...RANGE, breakdown: { visit: 'channel' } }],
  ['visits', 'by landing page, each day', { ...RANGE, interval: 'day', breakdown: { visit: 'landing_page' } }],
  ['visits', 'with attention', { ...RANGE, attention: true }],
  ['revenue', 'days', { ...RANGE, interval: 'day' }],
  [
    'revenue',
    'by a property, the time before',
    { ...RANGE, interval: 'day', breakdown: { field: CAMPAIGN }, compare: 'previous' },
  ],
  ['stickiness', 'three series', { ...RANGE, interval: 'day', series: STEPS.slice(1) }],
  ['lifecycle', 'weeks', { ...RANGE, interval: 'week', ...named('page_view') }],
  ['retention', 'first', RETENTION],
  ['retention', 'first ever', { ...RETENTION, mode: 'first_ever' }],
  ['retention', 'recurring', { ...RETENTION, mode: 'recurring' }],
  ['top', 'campaigns by persons', { ...RANGE, field: CAMPAIGN, by: 'persons' }],
  [
    'top',
    'sites that people came from, by value',
    { ...RANGE, field: { ...property('$referrer'), part: 'other_host' }, by: 'value' },
  ],
  ['paths', 'names, by session', PATHS],
  ['paths', 'pages in a day', { ...RANGE, by: { ...property('$current_url'), part: 'page' }, window_ms: DAY_MS }],
  ['timeline', 'of a visitor', { ...RANGE, distinct_id: 'v1' }],
  ['timeline', 'of a person', { ...RANGE, person_id: 'p_1' }],
  ['trends', 'by a cohort', { ...TRENDS, breakdown: { field: { cohort: 'regulars' } } }],
  ['cohorts', 'of a saved one', { of: [{ cohort: 'regulars' }] }],
  ['members', 'of a saved one', { cohort: 'regulars' }],
  ['survey', 'answers', { ...RANGE, id: 'nps' }],
  ['promo', 'showings', { ...RANGE, id: 'summer' }],
  ['form', 'leads', { ...RANGE, id: 'contact' }],
];

/** Lists of who is in a part of a chart; the filters are those of the chart. */
const LISTS: readonly [name: string, chart: string, query: object, part: object][] = [
  ['who dropped at a step', 'funnel', FUNNEL, { step: 3, got: 'dropped' }],
  [
    'who reached it with another value',
    'funnel',
    { ...FUNNEL, ...broken('first_step') },
    { step: 2, got: 'reached', other: true },
  ],
  ['which sessions reached it', 'funnel', { ...FUNNEL, count_by: 'session' }, { step: 2, got: 'reached' }],
  ['who is in a bar', 'trends', TRENDS, { series: 1, interval_from: RANGE.from }],
  ['who has another value', 'trends', { ...TRENDS, ...IN_THREE }, { series: 1, other: true }],
  ['who was in the bar before', 'trends', { ...TRENDS, compare: 'previous' }, { series: 1, before: true }],
  ['who came back', 'retention', RETENTION, { cohort: Date.UTC(2026, 8, 7), period: 1 }],
  ['whose path goes a way', 'paths', PATHS, { place: 0, way: ['page_view', 'purchase'] }],
  ['whose path goes another way', 'paths', PATHS, { place: 0, way: ['page_view', null] }],
];

const SELECTED: readonly [name: string, query: object][] = [
  ['a step', { ...FUNNEL, steps: [{ ...named('page_view'), filters: [PLAN] }, { filters: [CAME_BY] }] }],
  ['two series', { ...TRENDS, series: [{ ...SUMMED, filters: [PLAN] }, { filters: [CAME_BY] }], ...IN_THREE }],
];

export interface DocumentedQuestion {
  name: string;
  /** Which conditions the whole question has. */
  filtered: Filtered;
  statement: Statement;
}

/** The statements that the control service makes of questions, one or more of every documented kind, with some kinds of conditions. */
export function documentedQuestions(...kinds: Filtered[]): DocumentedQuestion[] {
  return kinds.flatMap((filtered) => {
    const filters = FILTERS[filtered];
    return [
      ...QUESTIONS.map(([route, name, query]) => asked(route, name, filtered, { ...query, filters })),
      ...LISTS.map(([name, chart, query, part]) =>
        asked('actors', name, filtered, { of: { [chart]: { ...query, filters }, ...part } }),
      ),
      asked('live', 'of a name', filtered, { ...named('purchase'), filters }),
    ];
  });
}

/** The same where a step or each of two series has conditions on persons of its own. */
export const selectedByPersons = (): DocumentedQuestion[] =>
  SELECTED.map(([name, query]) => asked('steps' in query ? 'funnel' : 'trends', `${name} of persons`, 'none', query));

/** As many rules as a site may have. */
const PAGES: PageRules = {
  ...{ drop_trailing_slash: true, lower_case: true, drop_index_names: true, shorten_ids: true, hash_routes: true },
  parameters: Array.from({ length: PAGE_PARAMETERS_MAX }, (_, at) => `parameter_${at}`),
  rules: Array.from({ length: PAGE_RULES_MAX }, (_, at) => `/section-${at}/:id/*`),
};
const OF_PAGES = new Set(['top', 'visits', 'paths', 'trends']);
const PAGE = { ...property('$current_url'), part: 'page' };

/** Questions about pages of a site that has as many rules as it may. */
export const questionsByPageRules = (): DocumentedQuestion[] => [
  ...QUESTIONS.filter(([route, name]) => OF_PAGES.has(route) && name.includes('page')).map(([route, name, query]) =>
    asked(route, `${name}, by rules`, 'none', query, PAGES),
  ),
  asked('top', 'pages, by rules', 'none', { ...RANGE, field: PAGE }, PAGES),
  asked('trends', 'by page, by rules', 'none', { ...TRENDS, breakdown: { field: PAGE } }, PAGES),
];

const worldOf = (pages?: PageRules) => ({
  view: { table: { site: () => ({ pages }), cohorts: () => COHORTS } },
  may: () => true,
  nowMs: TO,
});

function asked(name: string, about: string, filtered: Filtered, body: object, pages?: PageRules): DocumentedQuestion {
  const route = queryRoutes.find(({ path }) => path.endsWith(`/${name}`));
  const question = route?.prepare?.({ params: { site_id: SITE }, query: {}, body } as never, worldOf(pages) as never);
  if (question?.kind !== 'query') throw new Error(`${name}, ${about} is refused: ${JSON.stringify(question)}`);
  return { name: `${name}, ${about} (${filtered})`, filtered, statement: question.statement };
}
