// Segment's and PostHog's routes in the OpenAPI document.

import { type TSchema, Type } from 'typebox';
import { SEGMENT_CALLS, type SegmentCall } from '#pipelines/intake/compat/segment.ts';
import { type DocumentedResponse, type DocumentedRoute, failuresByStatus } from '#pipelines/openapi.ts';
import { EDGE_ERRORS, type EdgeErrorCode } from '../errors.ts';
import {
  BODY_ERRORS,
  FLAGS_EXAMPLE,
  KEY_ERRORS,
  POSTHOG_EXAMPLE,
  plainText,
  rejectionShape,
  SEGMENT_BATCH_EXAMPLE,
  SEGMENT_EXAMPLES,
  timeText,
} from '../openapi_shapes.ts';
import type { CompatProtocol } from './compat.ts';
import { FLAGS_PATHS, posthog, REMOTE_CONFIG_PATHS } from './posthog.ts';
import { SEGMENT_CALL_PATHS, segment } from './segment.ts';

/** Codes that no foreign route answers: content types are not asked there, nor are our own bodies. */
const NOT_FOREIGN = /^(?:content_type_unsupported|events_(?:missing|not_array|empty|too_many))$/;

/** The routes of Segment's and PostHog's protocols. */
export function compatRoutes(): DocumentedRoute[] {
  const codes: EdgeErrorCode[] = [...KEY_ERRORS, ...BODY_ERRORS, 'rate_limited'];
  const all: EdgeErrorCode[] = [
    ...codes.filter((code) => !NOT_FOREIGN.test(code)),
    'body_not_calls',
    'compression_unsupported',
    'calls_too_many',
    'events_rejected',
  ];
  return [...segment.paths.map((path) => segmentRoute(path, all)), ...posthogRoutes(all)];
}

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
      responses: [
        path.endsWith('.js')
          ? { status: 200, description: 'A script that sets it', contentType: 'text/javascript', schema: Type.String() }
          : { status: 200, description: 'What it may do', schema: remoteConfig },
        ...failures(posthog, KEY_ERRORS, posthogError),
      ],
    }),
  );
  return [...captures, ...flags, ...configs];
}

const json = (schema: TSchema, example: object) => ({ contentTypes: ['application/json'], schema, example });

function posted(path: string, tag: string) {
  const operationId = `${tag.toLowerCase()}${path.replaceAll(/\W+/g, '_')}`;
  return { method: 'POST', path, operationId, tag };
}

/** One response for each status that the protocol gives a code. */
function failures(protocol: CompatProtocol, codes: readonly EdgeErrorCode[], schema: TSchema): DocumentedResponse[] {
  const statusOf = (code: EdgeErrorCode): number => protocol.refused(code, []).status;
  return failuresByStatus(codes, { errors: EDGE_ERRORS, schema, statusOf, retried: [429, 503] });
}

const anything = Type.Object({}, { additionalProperties: true });
const idOrNumber = (description: string) => Type.Union([plainText(description), Type.Integer()]);

/** Members of every call of Segment's protocol; other ones are kept as properties or left out. */
const shared = {
  messageId: Type.Optional(plainText('Unique id of the call: the same one is counted once')),
  userId: Type.Optional(idOrNumber('The user, where known')),
  anonymousId: Type.Optional(idOrNumber('The visitor')),
  timestamp: Type.Optional(timeText),
  originalTimestamp: Type.Optional(timeText),
  context: Type.Optional(anything),
};

/** What a call of a type has beside that. */
const OWN: Record<SegmentCall, Record<string, TSchema>> = {
  track: { event: plainText('Name of the event'), properties: Type.Optional(anything) },
  identify: { traits: Type.Optional(anything) },
  page: { name: Type.Optional(Type.String()), properties: Type.Optional(anything) },
  screen: { name: Type.Optional(Type.String()), properties: Type.Optional(anything) },
  group: { groupId: Type.Optional(idOrNumber('The group')), traits: Type.Optional(anything) },
  alias: { previousId: Type.Optional(idOrNumber('The id used before')) },
};

const writeKey = Type.Optional(Type.String({ description: 'The key, where no header can carry it' }));
const sentAt = Type.Optional(Type.String({ description: 'When it was sent, by the clock that made the timestamps' }));

/** The body of the route of one type of call. */
const segmentCall = (type: SegmentCall) => Type.Object({ ...shared, ...OWN[type], writeKey, sentAt });

const segmentBatch = (callsMax: number) =>
  Type.Object({
    batch: Type.Array(
      Type.Union(SEGMENT_CALLS.map((type) => Type.Object({ type: Type.Literal(type), ...shared, ...OWN[type] }))),
      { minItems: 1, maxItems: callsMax },
    ),
    writeKey,
    sentAt,
  });

const posthogEvent = Type.Object({
  event: plainText('Name of the event'),
  uuid: Type.Optional(plainText('Unique id of the event: the same one is counted once')),
  distinct_id: Type.Optional(idOrNumber('Visitor or user')),
  timestamp: Type.Optional(timeText),
  properties: Type.Optional(anything),
});

const apiKey = Type.String({ description: 'The key' });

/** One event, or many with the key beside them. */
const posthogBody = (callsMax: number) =>
  Type.Union([
    Type.Object({
      api_key: apiKey,
      batch: Type.Array(posthogEvent, { minItems: 1, maxItems: callsMax }),
      sent_at: Type.Optional(Type.String({ description: 'When it was sent, by the clock that made the timestamps' })),
      historical_migration: Type.Optional(
        Type.Boolean({ description: 'Whether the calls are of the past, as at /v1/ingest' }),
      ),
    }),
    Type.Object({ ...posthogEvent.properties, api_key: apiKey }),
  ]);

const flagsBody = Type.Object({ api_key: apiKey });

const rejected = Type.Optional(
  Type.Array(rejectionShape, { description: 'Calls that were malformed, by their place' }),
);

const segmentAccepted = Type.Object({
  success: Type.Literal(true),
  dropped: Type.Optional(
    Type.Integer({ description: 'Events over the month’s allowance, which were not stored', minimum: 1 }),
  ),
});
const segmentError = Type.Object({
  success: Type.Literal(false),
  code: Type.String({ description: 'Stable: programs decide by it' }),
  message: Type.String({ description: 'For people; it may change' }),
  rejected,
});

const posthogAccepted = Type.Object({
  status: Type.Literal(1),
  quota_limited: Type.Optional(
    Type.Array(Type.Literal('events'), {
      description: 'There where events were over the month’s allowance, and not stored',
    }),
  ),
});
const posthogError = Type.Object({
  type: Type.Enum(['authentication_error', 'throttled_error', 'server_error', 'validation_error']),
  code: Type.String({ description: 'Stable: programs decide by it' }),
  detail: Type.String({ description: 'For people; it may change' }),
  attr: Type.Null(),
  rejected,
});
/** There are no feature flags: the libraries go on when told so. */
const noFlags = Type.Object({ flags: Type.Object({}), featureFlags: Type.Object({}) });
const remoteConfig = Type.Object({ token: Type.String(), hasFeatureFlags: Type.Literal(false) });
