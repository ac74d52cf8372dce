import { ROLE_PERMISSIONS } from '#pipelines/settings/access.ts';
import { PAGE_DEFAULTS } from '#schemas/setting.ts';

/** What an answer of the API is. */
export interface StubAnswer {
  status: number;
  body: unknown;
  etag?: string;
}

/** @param ifMatch As it was sent; null: it was not. */
type Answering = (body: object | null, url: URL, ifMatch: string | null) => StubAnswer | object;

/** Answers of the API by method and path; a later one takes the place of an earlier. What has none is 404. */
export interface StubApi {
  on(method: string, path: RegExp | string, answer: Answering | object): StubApi;
  answer(method: string, url: URL, body: object | null, ifMatch?: string | null): StubAnswer;
  /** `METHOD path` of every request so far. */
  requests: string[];
}

interface Rule {
  method: string;
  path: RegExp | string;
  answer: Answering | object;
}

/** A refusal as the service has it. */
export function refusal(status: number, code: string, message = code): StubAnswer {
  return { status, body: { error: { code, message } } };
}

/** An API of one person who may do anything, and of one site named shop. */
export function startStubApi(): StubApi {
  const rules: Rule[] = [];
  const api: StubApi = {
    requests: [],
    on(method, path, answer) {
      rules.unshift({ method, path, answer });
      return api;
    },
    answer(method, url, body, ifMatch = null) {
      api.requests.push(`${method} ${url.pathname}`);
      const rule = rules.find((one) => one.method === method && matches(one.path, url.pathname));
      if (rule === undefined) return refusal(404, 'not_found', `no stub for ${method} ${url.pathname}`);
      const answer = typeof rule.answer === 'function' ? (rule.answer as Answering)(body, url, ifMatch) : rule.answer;
      return 'status' in answer && 'body' in answer ? (answer as StubAnswer) : { status: 200, body: answer };
    },
  };
  return api
    .on('GET', '/v1/session', { id: 'ana', name: 'Ana Lopes', kind: 'user', grants: [EVERYTHING] })
    .on('GET', '/v1/session/oidc', { items: [] })
    .on('GET', /\/cohorts$/, { items: [], next: null })
    .on('GET', /\/shares$/, { items: [], next: null })
    .on('DELETE', '/v1/session', { status: 200, body: {} })
    .on('GET', '/v1/admin/sites', { items: [siteOf('shop', 'Corner shop'), siteOf('blog', 'blog')], next: null });
}

const matches = (path: RegExp | string, given: string): boolean =>
  typeof path === 'string' ? path === given : path.test(given);

const EVERYTHING = { role: 'owner', account_id: null, site_id: null, permissions: ROLE_PERMISSIONS.owner };

export function siteOf(site_id: string, name: string): object {
  const tag = { web_vitals: true, consent_required: false, consent_queue: true, respect_dnt: true, respect_gpc: true };
  return {
    ...{ site_id, name, account_id: 'acme', mode: 'online', business_category: 'retail', default_country: null },
    ...{ identify_events: null, clarity_project_id: null, gtm_container_id: null, domains: [], block_rules: [] },
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
      tag: { ...tag, inventory: true },
      pages: PAGE_DEFAULTS,
    },
    ...{ version: 'v1', changed_at: 0, changed_by: 'test' },
  };
}
