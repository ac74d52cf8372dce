// Every route of the control service, and the OpenAPI document that is made from them.

import { type TSchema, Type } from 'typebox';
import { SQL_EXAMPLE } from '#infra/clickhouse/analysts/analyst_rights.ts';
import { conditionShape, filterShape, innerFilterShape, middleFilterShape } from '#pipelines/analytics/filters.ts';
import {
  type DocumentedResponse,
  type DocumentedRoute,
  failuresByStatus,
  openApiDocument,
} from '#pipelines/openapi.ts';
import { eventDefinitionSchema } from '#pipelines/settings/event_definitions.ts';
import { alertItemShape, firedShape } from '#services/control_api/alerts.ts';
import { cohortShape } from '#services/control_api/cohorts.ts';
import { destinationShape } from '#services/control_api/destinations.ts';
import { engageInputs, engageShapes } from '#services/control_api/engage.ts';
import { closed, errorShape } from '#services/control_api/fields.ts';
import { savedShapes } from '#services/control_api/queries.ts';
import { accountShape, definitionInput, keyShape, siteShape } from '#services/control_api/sites.ts';
import { grantInput, grantShape, tokenShape, userShape, whoShape } from '#services/control_api/users.ts';
import { accountRoutes, installationRoutes, rateRoutes } from './accounts/routes.ts';
import { ALERT_EXAMPLES, alertRoutes } from './alerts/routes.ts';
import { auditRoutes } from './audit/routes.ts';
import { cohortRoutes } from './cohorts/routes.ts';
import { deliveryRoutes } from './destinations/delivery.ts';
import { destinationRoutes } from './destinations/routes.ts';
import { ENGAGE_EXAMPLES, engageRoutes } from './engage/routes.ts';
import { CONTROL_ERRORS, type ControlErrorCode } from './errors.ts';
import { keyRoutes } from './keys/routes.ts';
import { runningRoutes, siteHealthRoutes, stageRoutes } from './operations/routes.ts';
import { personRoutes, siteErasureRoutes } from './persons/routes.ts';
import { eventTraceRoutes } from './queries/event_trace.ts';
import { QUERY_EXAMPLES, queryRoutes } from './queries/routes.ts';
import { savedAnswerRoutes, savedRoutes } from './queries/saved_routes.ts';
import { sharedRoutes, shareRoutes } from './queries/share_routes.ts';
import { deadLetterRoutes } from './redelivery/dead_letter_routes.ts';
import { replayRoutes } from './redelivery/replay_routes.ts';
import type { Route } from './route.ts';
import { domainRoutes } from './sites/domains.ts';
import { definitionRoutes } from './sites/event_definitions.ts';
import { pageRoutes } from './sites/pages.ts';
import { loaderPrefixRoutes, siteRoutes, splitRoutes } from './sites/routes.ts';
import { analystRoutes } from './users/analysts.ts';
import { ownSessionRoutes, proofRoutes } from './users/own_session.ts';
import { userRoutes } from './users/routes.ts';
import { oidcRoutes, sessionRoutes } from './users/sign_in_routes.ts';
import { tokenRoutes } from './users/tokens.ts';

/** Every route but those that say of the service itself. */
export const ROUTES: readonly Route[] = [
  ...sessionRoutes,
  ...proofRoutes,
  ...oidcRoutes,
  ...ownSessionRoutes,
  ...userRoutes,
  ...accountRoutes,
  ...installationRoutes,
  ...siteRoutes,
  ...pageRoutes,
  ...definitionRoutes,
  ...engageRoutes,
  ...domainRoutes,
  ...splitRoutes,
  ...personRoutes,
  ...siteErasureRoutes,
  ...loaderPrefixRoutes,
  ...siteHealthRoutes,
  ...keyRoutes,
  ...destinationRoutes,
  ...deliveryRoutes,
  ...replayRoutes,
  ...deadLetterRoutes,
  ...stageRoutes,
  ...rateRoutes,
  ...tokenRoutes,
  ...auditRoutes,
  ...runningRoutes,
  ...analystRoutes,
  ...queryRoutes,
  ...eventTraceRoutes,
  ...savedRoutes,
  ...savedAnswerRoutes,
  ...shareRoutes,
  ...sharedRoutes,
  ...cohortRoutes,
  ...alertRoutes,
];

const ALWAYS: readonly ControlErrorCode[] = [
  'request_malformed',
  'settings_invalid',
  'host_unknown',
  'origin_foreign',
  'internal',
];
const OF_CALLERS: readonly ControlErrorCode[] = [
  'token_missing',
  'token_invalid',
  'token_revoked',
  'token_expired',
  'session_over',
  'sessions_unavailable',
];
const OF_QUERIES: readonly ControlErrorCode[] = [
  'query_too_heavy',
  'query_busy',
  'query_cancelled',
  'query_unavailable',
];
const OF_SHARED: readonly ControlErrorCode[] = ['share_unknown', 'share_limited', 'shares_unavailable'];
const WITH_BODY: readonly ControlErrorCode[] = ['body_not_json', 'body_too_large', 'content_type_unsupported'];

const isForKnown = ({ access }: Route): boolean => access !== 'open' && access !== 'shared';

/** Every code that a route may answer. */
export function errorsOf(route: Route): ControlErrorCode[] {
  const writes =
    route.method !== 'GET' &&
    route.prepare === undefined &&
    route.inSession === undefined &&
    route.signingIn === undefined &&
    route.gather === undefined;
  const isStored = writes || route.errors.includes('settings_not_stored');
  return [
    ...ALWAYS,
    ...(isForKnown(route) ? OF_CALLERS : []),
    ...(route.access === 'shared' ? OF_SHARED : []),
    ...(typeof route.access === 'string' ? [] : (['permission_missing'] as const)),
    ...(route.method === 'GET' || route.access === 'open' ? [] : (['csrf_missing'] as const)),
    ...(route.requiresReauthentication === undefined ? [] : (['proof_needed'] as const)),
    ...(route.method === 'GET' ? [] : WITH_BODY),
    ...route.errors,
    ...(route.prepare === undefined ? [] : OF_QUERIES),
    ...(route.ifMatch === 'none' ? [] : (['version_conflict'] as const)),
    ...(route.ifMatch === 'required' ? (['if_match_missing'] as const) : []),
    ...(writes ? (['settings_not_stored'] as const) : []),
    ...(isStored && route.access !== 'open' ? (['changes_limited'] as const) : []),
  ];
}

const DESCRIPTION = `Accounts, sites, keys and destinations of the event ingest service. Every change is recorded with the label of the
admin token that made it. A change names the version it is of: the ETag that was read goes into If-Match, and 412 says
that somebody else was faster; where a route names no If-Match, as for users, the last change holds. \`x-permissions\` says what a route takes; docs/dashboard.md says which roles have it. Times are in milliseconds since 1970 UTC. Secrets can be written and never read.`;

const ETAG_HEADER = { ETag: 'The version, for If-Match' };
const healthShape = Type.Object({ ok: Type.Boolean() });

/** The OpenAPI 3.1 document of the control service, made from the routes themselves. */
export function controlDocument(): Record<string, unknown> {
  return openApiDocument({
    title: 'Event ingest control API',
    version: '1.0.0',
    description: DESCRIPTION,
    routes: [...ROUTES.map(documented), healthRoute],
    components: {
      Account: accountShape,
      Site: siteShape,
      EventDefinition: eventDefinitionSchema,
      EventDefinitionInput: definitionInput,
      Survey: engageShapes.survey,
      Promo: engageShapes.promo,
      Form: engageShapes.form,
      SurveyInput: engageInputs.survey,
      PromoInput: engageInputs.promo,
      FormInput: engageInputs.form,
      Key: keyShape,
      Destination: destinationShape,
      AdminToken: tokenShape,
      Grant: grantShape,
      GrantInput: grantInput,
      Who: whoShape,
      User: userShape,
      Condition: conditionShape,
      Filter: filterShape,
      FilterInGroup: middleFilterShape,
      FilterInInnerGroup: innerFilterShape,
      Alert: alertItemShape,
      FiredAlert: firedShape,
      Cohort: cohortShape,
      SavedQuestion: savedShapes.question,
      Board: savedShapes.board,
      Error: errorShape,
    },
    securitySchemes: {
      adminToken: {
        type: 'http',
        scheme: 'bearer',
        description: 'An admin token: svc_at_ or, where it has grants, svc_st_, and 32 characters',
      },
      shareLink: {
        type: 'http',
        scheme: 'bearer',
        description: 'What stands in the fragment of a shared link: svc_sh_ and 32 characters',
      },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: '__Host-svc_session',
        description:
          'What signing in sets; `svc_session` on plain HTTP of this machine. Changes take X-Svc-CSRF: 1 beside it',
      },
    },
  });
}

const healthRoute: DocumentedRoute = {
  method: 'GET',
  path: '/v1/admin/health',
  operationId: 'health',
  tag: 'Health',
  summary: 'Whether changes can be written',
  responses: [
    { status: 200, description: 'They can', schema: healthShape },
    { status: 503, description: 'The last change could not be written', schema: healthShape },
  ],
};

function documented(route: Route): DocumentedRoute {
  return {
    method: route.method,
    path: route.path,
    operationId: route.operationId,
    tag: route.tag,
    summary: route.summary,
    params: route.params,
    query: route.query,
    headers: route.ifMatch === 'none' ? null : ifMatchHeader(route.ifMatch),
    body: bodyOf(route),
    responses: [
      documentedSuccess(route),
      ...failuresByStatus(errorsOf(route), { errors: CONTROL_ERRORS, schema: errorShape }),
    ],
    security: route.access === 'shared' ? ['shareLink'] : isForKnown(route) ? ['adminToken', 'session'] : [],
    ...(typeof route.access === 'string'
      ? {}
      : { permissions: [route.access.permission, ...(route.access.others ?? [])] }),
  };
}

function bodyOf({ body, operationId }: Route) {
  if (body === null) return null;
  const example = EXAMPLES[operationId];
  return { contentTypes: ['application/json'], schema: body, ...(example === undefined ? {} : { example }) };
}

function ifMatchHeader(need: 'required' | 'optional') {
  const description = 'The ETag of what is changed, or * for whatever there is';
  const header: TSchema = Type.String({ description });
  return closed({ 'If-Match': need === 'required' ? header : Type.Optional(header) });
}

function documentedSuccess(route: Route): DocumentedResponse {
  return route.prepare === undefined && route.gather === undefined
    ? { ...route.success, headers: ETAG_HEADER }
    : route.success;
}

const JANUARY = Date.UTC(2027, 0, 1);
const FEBRUARY = Date.UTC(2027, 1, 1);
const DAY_MS = 86_400_000;
const januaryRange = { from: JANUARY, to: FEBRUARY };

const definition = {
  id: 'newsletter',
  name: 'generate_lead',
  trigger: 'submit',
  selector: 'form.newsletter',
  url_pattern: '/blog/*',
};

const savedQuestion = { id: 'countries', name: 'Buyers by country', query: 'sql', question: { sql: SQL_EXAMPLE } };

const regulars = {
  id: 'regulars',
  name: 'Regulars',
  conditions: [
    { did: { events: ['purchase'] }, times: 3, last_days: 90 },
    { field: { person: { column: 'geo_country' }, seen: 'last' }, is: 'equal', to: ['BE', 'NL'] },
  ],
};

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
  createReplay: { destination: 'webhook', site_id: 'acme-shop', ...januaryRange, dry_run: true },
  changeReplay: { wanted: 'paused' },
  makeAnalyst: { analyst_id: 'ada', site_ids: ['acme-shop'] },
  resolveDeadLetters: { ids: ['dedup-0-17'], note: 'A bad import, sent again by hand.' },
  reopenDeadLetters: { ids: ['dedup-0-17'] },
  issueToken: { label: 'ci', expires_at: FEBRUARY },
  createQuestion: savedQuestion,
  replaceQuestion: { ...savedQuestion, owner: 'ci' },
  createBoard: { id: 'weekly', name: 'Weekly', questions: ['countries'] },
  replaceBoard: { id: 'weekly', name: 'Each week', questions: ['countries'] },
  createShare: { kind: 'board', item_id: 'weekly', name: 'For the agency', last_days: 30, may_embed: true },
  createCohort: regulars,
  replaceCohort: { ...regulars, name: 'Regular buyers' },
  removeCohortMembers: { members: [{ distinct_id: 'customer-1' }] },
  replaceCohortMembers: { replacement: '0123456789abcdefghij' },
  addCohortMembers: { members: [{ distinct_id: 'customer-1' }, { email: 'ada@example.com' }] },
  querySql: { sql: SQL_EXAMPLE },
  loadRates: { base: 'EUR', rates: [{ day: '2027-01-04', currency: 'USD', rate: 1.0832 }] },
  ...ALERT_EXAMPLES,
  ...QUERY_EXAMPLES,
};
