import { SQL_EXAMPLE } from '#infra/clickhouse/sql_rights.ts';
import { ENGAGE_EXAMPLES } from './engage_examples.ts';

const JANUARY = Date.UTC(2027, 0, 1);
const FEBRUARY = Date.UTC(2027, 1, 1);
const DAY_MS = 86_400_000;
const range = { from: JANUARY, to: FEBRUARY };

const definition = {
  id: 'newsletter',
  name: 'generate_lead',
  trigger: 'submit',
  selector: 'form.newsletter',
  url_pattern: '/blog/*',
};

const savedQuestion = { id: 'countries', name: 'Buyers by country', query: 'sql', question: { sql: SQL_EXAMPLE } };

/** A request body for each operation that has one, as people would send it; a test holds them against the schemas. */
export const EXAMPLES: Readonly<Record<string, object>> = {
  createAccount: { account_id: 'acme', name: 'Acme Ltd', monthly_allowance: 1_000_000 },
  changeAccount: { monthly_allowance: 5_000_000 },
  createSite: {
    site_id: 'acme-shop',
    account_id: 'acme',
    name: 'Shop',
    default_country: 'BE',
    domains: ['shop.example'],
  },
  changeSite: { mode: 'offline' },
  createEventDefinition: definition,
  replaceEventDefinition: { ...definition, enabled: false },
  ...ENGAGE_EXAMPLES,
  issueKey: { site_id: 'acme-shop', caller: 'browser', label: 'web', allowed_origins: ['https://shop.example'] },
  changeKey: { expires_at: FEBRUARY, rate_limit: 5_000 },
  rotateKey: { overlap_ms: 7 * DAY_MS },
  createDestination: {
    name: 'webhook',
    settings: { url: 'https://crm.example/hook' },
    secrets: { secret: 'whsec_AND_BASE64_OF_24_TO_64_BYTES' },
  },
  changeDestination: { enabled: false },
  testDestination: { event: 'page_view' },
  createReplay: { destination: 'webhook', site_id: 'acme-shop', ...range, dry_run: true },
  changeReplay: { wanted: 'paused' },
  makeAnalyst: { analyst_id: 'ada', site_ids: ['acme-shop'] },
  resolveDeadLetters: { ids: ['dedup-0-17'], note: 'A bad import, sent again by hand.' },
  reopenDeadLetters: { ids: ['dedup-0-17'] },
  issueToken: { label: 'ci', expires_at: FEBRUARY },
  createQuestion: savedQuestion,
  replaceQuestion: { ...savedQuestion, owner: 'ci' },
  createBoard: { id: 'weekly', name: 'Weekly', questions: ['countries'] },
  replaceBoard: { id: 'weekly', name: 'Each week', questions: ['countries'] },
  querySql: { sql: SQL_EXAMPLE },
  queryFunnel: {
    ...range,
    steps: [
      { events: ['page_view'] },
      { events: ['add_to_cart'] },
      { events: ['purchase'], filters: [{ field: { column: 'value' }, is: 'at_least', to: 20 }] },
    ],
    window_ms: 7 * DAY_MS,
    breakdown: { field: { property: ['utm_campaign'] }, at: 'first_touch' },
  },
  queryCorrelation: {
    ...range,
    steps: [{ events: ['page_view'] }, { events: ['purchase'] }],
    window_ms: 7 * DAY_MS,
    fields: [{ property: ['utm_campaign'] }, { column: 'country' }],
    actors_min: 100,
  },
  queryTrends: {
    ...range,
    interval: 'day',
    time_zone: 'Europe/Brussels',
    series: [
      { events: ['purchase'], measure: { of: 'average', field: { column: 'value' } } },
      { events: ['page_view'] },
    ],
    formulas: ['A / B * 1000'],
    breakdown: { fields: [{ column: 'country' }, { property: ['utm_campaign'] }], limit: 10 },
    compare: 'previous',
    rolling: 7,
  },
  queryRetention: { ...range, interval: 'week', mode: 'first_ever', start: { events: ['sign_up'] }, back: {} },
  queryStickiness: { ...range, interval: 'day', series: [{ events: ['page_view'] }] },
  queryLifecycle: { ...range, interval: 'week', time_zone: 'Europe/Brussels', events: ['page_view'] },
  queryActors: {
    of: {
      funnel: { ...range, steps: [{ events: ['add_to_cart'] }, { events: ['purchase'] }], window_ms: 7 * DAY_MS },
      step: 2,
      got: 'dropped',
    },
    limit: 50,
  },
  queryPaths: { ...range, starting_at: 'add_to_cart', steps: 4, top: 8 },
  queryTop: {
    ...range,
    field: { property: ['utm_campaign'] },
    events: ['purchase'],
    filters: [
      { field: { person: { column: 'country' }, seen: 'first' }, is: 'equal', to: ['BE'] },
      {
        any: [
          { field: { property: ['coupon'] }, is: 'matching', to: '^(spring|summer)[0-9]+$' },
          { field: { property: ['items'], each: ['item_name'] }, is: 'containing', to: 'mug', ignore_case: true },
        ],
      },
    ],
    by: 'value',
    limit: 10,
  },
  queryLive: {
    events: ['purchase'],
    filters: [{ field: { column: 'country' }, is: 'equal', to: ['BE', 'NL'] }],
    limit: 20,
  },
  querySurvey: { ...range, id: 'after-purchase' },
  queryPromo: { ...range, id: 'winter-sale' },
  queryForm: { ...range, id: 'quote', limit: 10 },
  queryTimeline: { ...range, distinct_id: 'customer-1' },
};
