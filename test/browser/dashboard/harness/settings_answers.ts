import { PAGE_DEFAULTS } from '#schemas/setting.ts';
import type { AuditItem } from '#services/control_api/audit.ts';
import type { DomainItem, UsageAnswer } from '#services/control_api/sites.ts';
import type { TokenItem } from '#services/control_api/users.ts';
import { CANARY } from './operations_answers.ts';
import { refusal, type StubApi } from './stub_api.ts';

const META = { version: 'v1', changed_at: 1_700_000_000_000, changed_by: 'ana' };
const HOUR_MS = 3_600_000;

const TAG = { web_vitals: true, consent_required: false, consent_queue: true, respect_dnt: true, respect_gpc: true };
const SITE = {
  ...{
    site_id: 'shop',
    name: 'Corner shop',
    account_id: 'acme',
    mode: 'online',
    business_category: 'ecommerce_retail',
  },
  ...{ default_country: 'AT', identify_events: null, clarity_project_id: null, gtm_container_id: null, domains: [] },
  ...{
    loader_prefix: null,
    consent_defaults: [],
    event_days: null,
    outcome_days: null,
    time_zone: null,
    week_start: null,
    person_days: null,
    visitor_places: null,
    visitor_addresses: null,
    currency: null,
    embed_origins: [],
    event_definitions: [],
    tag: { ...TAG, inventory: true },
    pages: PAGE_DEFAULTS,
  },
  block_rules: [{ kind: 'user_agent', value: CANARY, property: null }],
};

/** A site whose settings can be changed, with a domain that waits for its record. */
export function withSettings(api: StubApi): StubApi {
  const site = { ...SITE, ...META };
  const domain: DomainItem = {
    ...{ domain: 'events.shop.example', site_id: 'shop', state: 'pending', verified_at: null, failing_since: null },
    ...{ lapses_at: null },
    records: {
      txt: { name: '_svc.events.shop.example', value: `svc=${'a1'.repeat(16)}` },
      cname: { name: 'events.shop.example', value: `${'a1'.repeat(16)}.edge.example` },
    },
  };
  return api
    .on('GET', '/v1/admin/sites/shop', () => site)
    .on('PATCH', '/v1/admin/sites/shop', (body) => Object.assign(site, body, { version: `${site.version}+` }))
    .on('POST', /\/pages\/preview$/, () => ({
      ...{ from: 0, to: Date.now(), views: 9, pages_before: 5, pages_after: 4 },
      items: [
        {
          ...{ page: `https://shop.example/${CANARY}`, views: 3, is_changed: true, source_pages: 12 },
          sources: [{ page: 'https://shop.example/B', views: 2 }],
        },
      ],
    }))
    .on('GET', '/v1/admin/domains', () => ({ items: [domain], next: null }))
    .on('POST', /\/domains\/[^/]+\/verify$/, () =>
      Object.assign(domain, { state: 'verified', verified_at: Date.now() }),
    );
}

/** The days of one month, whichever is asked for. */
const usageInMarch: UsageAnswer = {
  ...{ account_id: 'acme', month: '2026-03', events: 8_300, as_of: META.changed_at },
  days: [
    { day: '2026-03-01', events: 8_000, sites: { shop: 5_000, [CANARY]: 3_000 } },
    { day: '2026-03-02', events: 300, sites: { shop: 300 } },
  ],
};

/** Accounts, of which one runs out of its allowance, changes of settings and tokens. */
export function withAccount(api: StubApi): StubApi {
  const account = { account_id: 'acme', name: 'Acme Ltd', monthly_allowance: 10_000, used_this_month: 8_300, ...META };
  const change = (seq: number, action: AuditItem['action']): AuditItem => ({
    ...{ seq, changed_at: META.changed_at + seq * HOUR_MS, changed_by: 'ana', setting_key: 'site/shop', action },
    ...{ before: { name: 'shop' }, after: { name: CANARY }, secrets_changed: ['access_token'] },
  });
  const token = (label: string, state: TokenItem['state']): TokenItem => ({
    ...{ token_hash: label.length.toString(16).padStart(64, '0'), shown_prefix: 'svc_at_3fh', label, created_at: 0 },
    ...{ expires_at: null, revoked_at: null, grants: null, state, ...META, issued_by: label === 'ci' ? 'bea' : null },
  });
  const analysts = [
    {
      ...{ analyst_id: 'bi', clickhouse_user: 'sql_user_bi', site_ids: ['shop'] },
      ...{ created_at: 0, created_by: CANARY, made_by: 'bea', expires_at: null },
    },
  ];
  const tokens = [token('ci', 'active'), token(CANARY, 'revoked')];
  return api
    .on('GET', '/v1/admin/accounts', { items: [account], next: null })
    .on('GET', '/v1/admin/accounts/acme/usage', usageInMarch)
    .on('GET', '/v1/admin/audit', (_body, url) => {
      const items = [change(3, 'change'), change(2, 'change'), change(1, 'create')];
      return { items: url.searchParams.has('changed_by') ? items.slice(0, 1) : items, next: null };
    })
    .on('GET', '/v1/admin/analysts', () => ({ items: analysts }))
    .on('POST', '/v1/admin/analysts', (body) => {
      const { analyst_id, site_ids } = body as { analyst_id: string; site_ids: string[] };
      const analyst = {
        analyst_id,
        clickhouse_user: `sql_user_${analyst_id}`,
        site_ids,
        created_at: 0,
        created_by: 'ana',
        made_by: 'ana',
        expires_at: null,
      };
      analysts.push(analyst);
      return { status: 201, body: { password: 'SHOWN-ONCE', analyst } };
    })
    .on('DELETE', '/v1/admin/analysts/bi', () => analysts.splice(0, 1)[0] ?? {})
    .on('GET', '/v1/admin/tokens', () => ({ items: tokens, next: null }))
    .on('POST', /\/tokens\/[0-9a-f]+\/revoke$/, (_body, url) => {
      const revoked = tokens.find(({ token_hash }) => url.pathname.includes(token_hash));
      return Object.assign(revoked ?? {}, { state: 'revoked', revoked_at: Date.now() });
    })
    .on('POST', '/v1/admin/tokens', (body) => {
      const issued = token((body as { label: string }).label, 'active');
      tokens.push(issued);
      return { status: 201, body: { secret: 'svc_at_NEWSECRET', token: issued } };
    });
}

/** Event definitions, of which one has stopped, and what can be shown to visitors. */
export function withDefinitions(api: StubApi): StubApi {
  const definition = (id: string, name: string) => ({
    ...{ id, name, trigger: 'click', selector: 'button.buy', url_pattern: '/product/*', text_contains: '' },
    ...{
      properties: {},
      conversion_event: '',
      destinations: {},
      value_selector: '',
      field_selectors: {},
      enabled: true,
    },
  });
  const items = [definition('buy', 'add_to_cart'), definition('odd', CANARY)];
  const fired = { fired: 120, last_fired_at: Date.now() - 80 * HOUR_MS, usual_gap_ms: 400_000 };
  const survey = { id: 'nps', name: CANARY, enabled: true, priority: 50, starts_at: null, ends_at: null };
  const reached = { times: 12, persons: 9 };
  return api
    .on('GET', /\/event-definitions$/, () => ({ items, next: null }))
    .on('PUT', /\/event-definitions\/buy$/, (body) => Object.assign(items[0] ?? {}, body))
    .on('GET', /\/tag-health$/, {
      definitions: [
        { id: 'buy', name: 'add_to_cart', state: 'stopped', ...fired },
        { id: 'odd', name: CANARY, state: 'firing', ...fired },
      ],
    })
    .on('GET', /\/surveys$/, {
      items: [{ ...survey, share_percent: 100, place: 'popover', revision: 1, ...META }],
      next: null,
    })
    .on('GET', /\/(promos|forms)$/, { items: [], next: null })
    .on('PUT', /\/surveys\/nps$/, refusal(400, 'settings_invalid', 'A question lacks its text.'))
    .on('POST', '/v1/query/shop/survey', {
      ...{
        shown: reached,
        answered: reached,
        completed: reached,
        dismissed: reached,
        completion: 1,
        nps: null,
        as_of: 0,
      },
      questions: [
        { id: 'why', answers: 3, average: null, values: [{ value: CANARY, ...reached }], more_values: false },
      ],
    });
}
