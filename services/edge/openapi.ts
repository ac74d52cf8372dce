import { type TSchema, Type } from 'typebox';
import { type DocumentedRoute, openApiDocument } from '#pipelines/openapi.ts';
import { eventDefinitionSchema } from '#pipelines/settings/event_definitions.ts';
import { BUSINESS_CATEGORIES } from '#pipelines/settings/validate.ts';
import { engageDocs } from './engage/openapi.ts';
import { EDGE_ERRORS, type EdgeErrorCode } from './errors.ts';
import { loaderDocs } from './loaders/routes.ts';
import {
  BODY_ERRORS,
  elementShape,
  errorShape,
  eventShape,
  failures,
  INGEST_EXAMPLE,
  INVENTORY_EXAMPLE,
  ingestBody,
  inventoryBody,
  jsonBody,
  KEY_ERRORS,
  KEYED,
  rejectionShape,
} from './openapi_shapes.ts';
import { ga4Routes } from './protocols/ga4.ts';
import { compatRoutes } from './protocols/openapi.ts';
import { collectorDocs } from './protocols/pixels.ts';
import { scriptDocs, UNCHANGED } from './tag_files/routes.ts';

const DESCRIPTION = `Takes events from browser tags, servers and tills, and acknowledges only what is stored. The libraries of Segment,
RudderStack and PostHog can send here as they are, and so can GA4's tag and senders of its Measurement Protocol. A key is sent in the
X-Svc-Key header, or where headers cannot be set in the query parameter key. Bodies may be compressed with gzip, deflate
or br; sizes count after decompression.`;

const accepted = Type.Object({ accepted: Type.Integer({ minimum: 0 }) });
const ingested = Type.Object({
  accepted: Type.Integer({ description: 'Events that are stored', minimum: 0 }),
  dropped: Type.Optional(Type.Integer({ description: 'Events over the allowance and its grace', minimum: 0 })),
  rejected: Type.Optional(
    Type.Array(rejectionShape, { description: 'Events that were malformed; not to be sent again' }),
  ),
});
const healthShape = Type.Object({ ok: Type.Boolean(), ratelimit: Type.Enum(['redis', 'memory']) });
const routePixel = Type.Object({ pixel_id: Type.String(), url_pattern: Type.String() });
const orNull = (properties: Record<string, TSchema>) => Type.Union([Type.Object(properties), Type.Null()]);
const tagShape = Type.Object({
  parts: Type.Array(Type.String(), {
    description: "The tag's further scripts that the site has work for from the start: vendors is svc-vendors.min.js",
  }),
  engage: Type.Boolean({ description: 'Whether the site has surveys, promos or forms that are enabled' }),
  web_vitals: Type.Boolean(),
  consent: Type.Object({
    required: Type.Boolean({ description: 'Whether nothing is measured before the visitor has agreed' }),
    queue: Type.Boolean({ description: 'Whether what happened before is sent once they do' }),
  }),
  respect_dnt: Type.Boolean(),
  respect_gpc: Type.Boolean(),
  inventory: Type.Boolean({ description: 'Whether the elements of pages are looked over' }),
  hash_routes: Type.Boolean({ description: 'Whether another route in the fragment, #/ or #!/, is another page' }),
  loader: orNull({ base: Type.String({ description: 'Origin of the first verified domain' }), prefix: Type.String() }),
  event_names: Type.Record(Type.String(), Type.Record(Type.String(), Type.String()), {
    description:
      'By destination with a pixel: its names that the site chose, by the event’s in lower case without separators',
  }),
});
const configShape = Type.Object({
  mode: Type.Enum(['online', 'offline']),
  business_category: Type.Enum([...BUSINESS_CATEGORIES]),
  clarity: orNull({ project_id: Type.String() }),
  facebook: orNull({ pixel_id: Type.String(), route_pixels: Type.Array(routePixel) }),
  tiktok: orNull({ pixel_code: Type.String() }),
  ga4: orNull({ measurement_id: Type.String() }),
  gtm: orNull({ container_id: Type.String() }),
  custom_loader: Type.Boolean(),
  events: Type.Array(eventDefinitionSchema),
  tag: tagShape,
});

/** The OpenAPI 3.1 document of the public routes. */
export function publicDocument(): Record<string, unknown> {
  return openApiDocument({
    title: 'Event ingest API',
    version: '1.0.0',
    description: DESCRIPTION,
    routes: [
      ...ROUTES,
      ...scriptDocs(),
      ...loaderDocs(),
      ...engageDocs(),
      ...compatRoutes(),
      ...collectorDocs(),
      ...ga4Routes(),
    ],
    components: {
      Event: eventShape,
      Rejection: rejectionShape,
      Element: elementShape,
      EventDefinition: eventDefinitionSchema,
      Error: errorShape,
    },
    securitySchemes: {
      keyHeader: { type: 'apiKey', in: 'header', name: 'X-Svc-Key' },
      keyQuery: { type: 'apiKey', in: 'query', name: 'key' },
      writeKey: { type: 'http', scheme: 'basic', description: 'The key as the user, without a password' },
    },
  });
}

const ROUTES: DocumentedRoute[] = [
  {
    ...KEYED,
    method: 'POST',
    path: '/v1/ingest',
    operationId: 'ingest',
    tag: 'Events',
    summary: 'Send up to 50 events',
    body: jsonBody(ingestBody, INGEST_EXAMPLE),
    responses: [
      {
        status: 200,
        description: 'What is stored. Traffic of bots and blocked events are 0 without an error',
        schema: ingested,
      },
      ...failures([...KEY_ERRORS, ...BODY_ERRORS, 'events_rejected', 'events_too_many', 'rate_limited']),
    ],
  },
  {
    ...KEYED,
    method: 'POST',
    path: '/v1/inventory',
    operationId: 'inventory',
    tag: 'Tag',
    summary: 'Send the elements of a page',
    body: jsonBody(inventoryBody, INVENTORY_EXAMPLE),
    responses: [
      { status: 200, description: 'Elements that were stored; 0 when the page is known as it is', schema: accepted },
      ...failures([...KEY_ERRORS, ...BODY_ERRORS, ...inventoryErrors(), 'rate_limited']),
    ],
  },
  {
    ...KEYED,
    method: 'GET',
    path: '/v1/config',
    operationId: 'config',
    tag: 'Tag',
    summary: 'Read the public configuration of a site',
    headers: Type.Object({ 'If-None-Match': Type.Optional(Type.String({ description: 'The ETag that is known' })) }),
    responses: [
      {
        status: 200,
        description: 'The configuration; it holds no secret',
        schema: configShape,
        headers: { ETag: 'Its version' },
      },
      UNCHANGED,
      ...failures([...KEY_ERRORS, 'request_malformed', 'not_found']),
    ],
  },
  {
    method: 'GET',
    path: '/v1/health',
    operationId: 'health',
    tag: 'Operation',
    summary: 'Whether an event could be accepted now',
    responses: [
      { status: 200, description: 'It could', schema: healthShape },
      { status: 503, description: 'It could not', schema: healthShape },
    ],
  },
  {
    method: 'GET',
    path: '/v1/tls-check',
    operationId: 'tlsCheck',
    tag: 'Operation',
    summary: 'Whether a domain is claimed and verified, checked before a certificate is issued for it',
    query: Type.Object({ domain: Type.String() }),
    responses: [
      { status: 200, description: 'It is', schema: Type.Object({ allowed: Type.Literal(true) }) },
      ...failures(['request_malformed', 'domain_malformed', 'domain_unverified']),
    ],
  },
];

function inventoryErrors(): EdgeErrorCode[] {
  const own = /^(inventory|page|url|title|elements?)_/;
  return (Object.keys(EDGE_ERRORS) as EdgeErrorCode[]).filter((code) => own.test(code));
}
