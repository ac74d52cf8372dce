import { type TSchema, Type } from 'typebox';
import type { DocumentedResponse, DocumentedRoute } from '#pipelines/openapi/document.ts';
import type { Dialect } from './compat/dialect.ts';
import { FLAGS_PATHS } from './compat/flags.ts';
import { posthog } from './compat/posthog.ts';
import { REMOTE_CONFIG_PATHS } from './compat/remote_config.ts';
import { SEGMENT_CALL_PATHS, segment } from './compat/segment.ts';
import { EDGE_ERRORS, type EdgeErrorCode } from './errors.ts';
import {
  apiKey,
  flagsBody,
  noFlags,
  posthogAccepted,
  posthogBody,
  posthogError,
  remoteConfig,
  segmentAccepted,
  segmentBatch,
  segmentCall,
  segmentError,
} from './openapi_compat_shapes.ts';
import { FLAGS_EXAMPLE, POSTHOG_EXAMPLE, SEGMENT_BATCH_EXAMPLE, SEGMENT_EXAMPLES } from './openapi_examples.ts';

/** Codes that no foreign route answers: content types are not asked there, nor are our own bodies. */
const NOT_FOREIGN = /^(?:content_type_unsupported|events_(?:missing|not_array|empty|too_many))$/;

/** The routes of Segment's and PostHog's protocols; `codes` are those of our own ingest. */
export function compatRoutes(codes: readonly EdgeErrorCode[]): DocumentedRoute[] {
  const all: EdgeErrorCode[] = [
    ...codes.filter((code) => !NOT_FOREIGN.test(code)),
    'body_not_calls',
    'compression_unsupported',
    'calls_too_many',
    'events_rejected',
  ];
  return [...segment.paths.map((path) => segmentRoute(path, all)), ...posthogRoutes(all)];
}

/** Why the key of a path is refused. */
const KEY_CODES: EdgeErrorCode[] = [
  'key_repeated',
  'key_missing',
  'key_invalid',
  'key_revoked',
  'key_expired',
  'key_not_for_browsers',
  'origin_not_allowed',
];

function segmentRoute(path: string, codes: readonly EdgeErrorCode[]): DocumentedRoute {
  const type = SEGMENT_CALL_PATHS[path];
  return {
    ...posted(path, 'Segment'),
    summary: type === undefined ? 'Send a batch of Segment’s calls' : `Send one of Segment’s ${type} calls`,
    body:
      type === undefined
        ? json(segmentBatch(segment.callsMax), SEGMENT_BATCH_EXAMPLE)
        : json(segmentCall(type), SEGMENT_EXAMPLES[type]),
    responses: [
      { status: 200, description: 'It is stored', schema: segmentAccepted },
      ...failures(segment, [...codes, 'allowance_exhausted'], segmentError),
    ],
    security: ['writeKey', 'keyHeader', 'keyQuery'],
  };
}

function posthogRoutes(codes: readonly EdgeErrorCode[]): DocumentedRoute[] {
  const captures = posthog.paths.map((path) => ({
    ...posted(path, 'PostHog'),
    summary: 'Send events as PostHog’s libraries do; the key is in the body',
    body: json(posthogBody(posthog.callsMax), POSTHOG_EXAMPLE),
    responses: [
      { status: 200, description: 'They are stored', schema: posthogAccepted },
      ...failures(posthog, codes, posthogError),
    ],
  }));
  const flags = FLAGS_PATHS.map((path) => ({
    ...posted(path, 'PostHog'),
    summary: 'Ask for feature flags, of which there are none; the key is in the body',
    body: json(flagsBody, FLAGS_EXAMPLE),
    responses: [{ status: 200, description: 'None', schema: noFlags }, ...failures(posthog, codes, posthogError)],
  }));
  const configs = REMOTE_CONFIG_PATHS.map(
    (path): DocumentedRoute => ({
      method: 'GET',
      path: path.replace(':key', '{key}'),
      operationId: path.endsWith('.js') ? 'posthog_config_script' : 'posthog_config',
      tag: 'PostHog',
      summary: 'Ask how PostHog’s browser library should behave: it sends events, and does nothing else',
      params: Type.Object({ key: apiKey }),
      query: null,
      headers: null,
      body: null,
      security: [],
      responses: [
        path.endsWith('.js')
          ? { status: 200, description: 'A script that sets it', contentType: 'text/javascript', schema: Type.String() }
          : { status: 200, description: 'What it may do', schema: remoteConfig },
        ...failures(posthog, KEY_CODES, posthogError),
      ],
    }),
  );
  return [...captures, ...flags, ...configs];
}

const json = (schema: TSchema, example: object) => ({ contentTypes: ['application/json'], schema, example });

function posted(path: string, tag: string) {
  const operationId = `${tag.toLowerCase()}${path.replaceAll(/\W+/g, '_')}`;
  return { method: 'POST', path, operationId, tag, params: null, query: null, headers: null, security: [] };
}

/** One response for each status the protocol gives a code, naming the codes it may carry. */
function failures(dialect: Dialect, codes: readonly EdgeErrorCode[], schema: TSchema): DocumentedResponse[] {
  const byStatus = Map.groupBy(new Set(codes), (code) => dialect.refused(code, []).status);
  return [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, group]) => ({
      status,
      description: group.map((code) => `\`${code}\`: ${EDGE_ERRORS[code].message}`).join('\n\n'),
      schema,
      ...(status === 503 || status === 429 ? { headers: { 'Retry-After': 'Seconds to wait' } } : {}),
    }));
}
