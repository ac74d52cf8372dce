import { type TSchema, Type } from 'typebox';
import { type DocumentedResponse, type DocumentedRoute, openApiDocument } from '#pipelines/openapi/document.ts';
import { conditionShape, filterShape, innerFilterShape, middleFilterShape } from '#pipelines/query/filter_shapes.ts';
import { eventDefinitionSchema } from '#pipelines/settings/event_definitions.ts';
import { accountShape } from '#services/control_api/account_shapes.ts';
import { destinationShape } from '#services/control_api/destination_shapes.ts';
import { engageInputs, engageShapes } from '#services/control_api/engage_shapes.ts';
import { closed, errorShape } from '#services/control_api/fields.ts';
import { keyShape } from '#services/control_api/key_shapes.ts';
import { savedShapes } from '#services/control_api/saved_shapes.ts';
import { grantInput, grantShape, whoShape } from '#services/control_api/session_shapes.ts';
import { definitionInput, siteShape } from '#services/control_api/site_shapes.ts';
import { tokenShape } from '#services/control_api/token_shapes.ts';
import { userShape } from '#services/control_api/user_shapes.ts';
import { CONTROL_ERRORS, type ControlErrorCode } from './errors.ts';
import { EXAMPLES } from './examples.ts';
import type { Route } from './route.ts';
import { errorsOf, ROUTES } from './routes.ts';

const DESCRIPTION = `Accounts, sites, keys and destinations of the event ingest service. Every change is recorded with the label of the
admin token that made it. A change names the version it is of: the ETag that was read goes into If-Match, and 412 says
that somebody else was faster; where a route names no If-Match, as for users, the last change holds. \`x-permissions\` says what a route takes; docs/dashboard.md says which roles have it. Times are in milliseconds since 1970 UTC. Secrets can be written and never read.`;

const etag = { ETag: 'The version, for If-Match' };
const healthShape = Type.Object({ ok: Type.Boolean() });

/** The OpenAPI 3.1 document of the control service, made from the routes themselves. */
export function controlDocument(): Record<string, unknown> {
  return openApiDocument({
    title: 'Event ingest control API',
    version: '1.0.0',
    description: DESCRIPTION,
    routes: [...ROUTES.map(documented), health],
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

const health: DocumentedRoute = {
  method: 'GET',
  path: '/v1/admin/health',
  operationId: 'health',
  tag: 'Health',
  summary: 'Whether changes can be written',
  params: null,
  query: null,
  headers: null,
  body: null,
  responses: [
    { status: 200, description: 'They can', schema: healthShape },
    { status: 503, description: 'The last change could not be written', schema: healthShape },
  ],
  security: [],
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
    responses: [success(route), ...failures(errorsOf(route))],
    security: route.access === 'open' ? [] : ['adminToken', 'session'],
    ...(typeof route.access === 'string'
      ? {}
      : { permissions: [route.access.permission, ...(route.access.others ?? [])] }),
  };
}

function bodyOf({ body, operationId }: Route): DocumentedRoute['body'] {
  if (body === null) return null;
  const example = EXAMPLES[operationId];
  return { contentTypes: ['application/json'], schema: body, ...(example === undefined ? {} : { example }) };
}

function ifMatchHeader(need: 'required' | 'optional') {
  const description = 'The ETag of what is changed, or * for whatever there is';
  const header: TSchema = Type.String({ description });
  return closed({ 'If-Match': need === 'required' ? header : Type.Optional(header) });
}

function success(route: Route): DocumentedResponse {
  return route.ask === undefined && route.gather === undefined ? { ...route.success, headers: etag } : route.success;
}

/** One response for each status, naming the codes it may carry. */
function failures(codes: readonly ControlErrorCode[]): DocumentedResponse[] {
  const byStatus = Map.groupBy(new Set(codes), (code) => CONTROL_ERRORS[code].status);
  return [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, group]) => ({
      status,
      description: group.map((code) => `\`${code}\`: ${CONTROL_ERRORS[code].message}`).join('\n\n'),
      schema: errorShape,
      ...(status === 503 ? { headers: { 'Retry-After': 'Seconds to wait' } } : {}),
    }));
}
