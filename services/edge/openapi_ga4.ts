import { Type } from 'typebox';
import { HITS_MAX } from '#pipelines/intake/ga4/hits.ts';
import { MEASUREMENTS_MAX } from '#pipelines/intake/ga4/measurement_protocol.ts';
import type { DocumentedResponse, DocumentedRoute } from '#pipelines/openapi/document.ts';
import type { EdgeErrorCode } from './errors.ts';
import { COLLECT_PATHS } from './ga4/collect_paths.ts';
import { MEASUREMENT_DEBUG_PATH, MEASUREMENT_PATH } from './ga4/measurements.ts';
import { failures } from './openapi_failures.ts';

const SITE_ERRORS: EdgeErrorCode[] = [
  'measurement_id_missing',
  'measurement_id_unknown',
  'measurement_id_contested',
  'measurement_id_unproven',
  'browser_key_missing',
];

const MEASUREMENT_ERRORS: EdgeErrorCode[] = ['server_key_required', 'client_id_missing'];
const REFUSED_WHOLE: EdgeErrorCode[] = ['events_rejected', 'events_too_many', 'parameters_too_many'];

const hitQuery = Type.Object(
  {
    v: Type.Optional(Type.String({ description: 'Version of the protocol: 2' })),
    tid: Type.Optional(Type.String({ description: 'Measurement id, as in G-XXXXXXXXXX; names the site' })),
    cid: Type.Optional(Type.String({ description: 'Client id' })),
    uid: Type.Optional(Type.String({ description: 'User id' })),
    en: Type.Optional(Type.String({ description: 'Name of the event; with a body, each line has its own' })),
    key: Type.Optional(Type.String({ description: 'A key, which names the site before all else' })),
  },
  { additionalProperties: true },
);
const secretQuery = Type.Object({
  api_secret: Type.String({ description: 'A server key of the site' }),
  measurement_id: Type.Optional(Type.String({ description: 'Not looked at: the secret names the site' })),
});
const measurementBody = Type.Object(
  {
    client_id: Type.String({ minLength: 1 }),
    user_id: Type.Optional(Type.String()),
    timestamp_micros: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
    events: Type.Array(
      Type.Object({
        name: Type.String({ minLength: 1, maxLength: 200 }),
        params: Type.Optional(Type.Object({}, { additionalProperties: true })),
      }),
      { minItems: 1, maxItems: MEASUREMENTS_MAX },
    ),
  },
  { additionalProperties: true },
);
const MEASUREMENT_EXAMPLE = {
  client_id: '1234567890.1732000000',
  events: [{ name: 'purchase', params: { transaction_id: 'T-1', value: 25.5, currency: 'EUR' } }],
};
const validation = Type.Object({
  validationMessages: Type.Array(
    Type.Object({ fieldPath: Type.String(), description: Type.String(), validationCode: Type.String() }),
  ),
});

/** The routes of GA4's protocols; `codes` are those of our own ingest. */
export function ga4Routes(codes: readonly EdgeErrorCode[]): DocumentedRoute[] {
  const shared = { tag: 'GA4', params: null, headers: null };
  const hits = COLLECT_PATHS.flatMap((path) =>
    ['GET', 'POST'].map(
      (method): DocumentedRoute => ({
        ...shared,
        method,
        path,
        operationId: `ga4_${method.toLowerCase()}${path.replaceAll(/\W+/g, '_')}`,
        summary: method === 'GET' ? 'Send a hit of GA4’s tag' : `Send up to ${HITS_MAX} hits of GA4’s tag, a line each`,
        query: hitQuery,
        body: method === 'GET' ? null : { contentTypes: ['text/plain'], schema: Type.String(), example: HITS_EXAMPLE },
        responses: [STORED, ...failures(hitCodes(method, codes))],
        security: [],
      }),
    ),
  );
  const measured = [MEASUREMENT_PATH, MEASUREMENT_DEBUG_PATH].map(
    (path): DocumentedRoute => ({
      ...shared,
      method: 'POST',
      path,
      operationId: `ga4${path.replaceAll(/\W+/g, '_')}`,
      summary:
        path === MEASUREMENT_PATH
          ? 'Send events by the Measurement Protocol'
          : 'Ask what Google would object to in a body of the Measurement Protocol; nothing is kept',
      query: secretQuery,
      body: { contentTypes: ['application/json'], schema: measurementBody, example: MEASUREMENT_EXAMPLE },
      responses: [
        path === MEASUREMENT_PATH ? STORED : { status: 200, description: 'What it is', schema: validation },
        ...failures([...codes, ...MEASUREMENT_ERRORS, ...(path === MEASUREMENT_PATH ? REFUSED_WHOLE : [])]),
      ],
      security: [],
    }),
  );
  return [...hits, ...measured];
}

const HITS_EXAMPLE = 'en=scroll&epn.percent_scrolled=90\r\nen=login&ep.method=email';
const STORED: DocumentedResponse = {
  status: 204,
  description: 'They are stored, apart from those of bots, blocked ones, and those over the allowance',
  schema: null,
};

function hitCodes(method: string, codes: readonly EdgeErrorCode[]): EdgeErrorCode[] {
  const ofText = codes.filter((code) => code !== 'body_not_json' && code !== 'body_too_complex');
  const all: EdgeErrorCode[] = [...ofText, ...SITE_ERRORS, 'events_rejected', 'hit_too_large', 'parameters_too_many'];
  return method === 'GET' ? all : [...all, 'measurement_ids_mixed', 'events_too_many'];
}
