import { type TSchema, Type } from 'typebox';
import { SEGMENT_CALLS, type SegmentCall } from '#pipelines/intake/compat/segment.ts';
import { plainText, rejectionShape, timeText } from './openapi_shapes.ts';

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
export const segmentCall = (type: SegmentCall) => Type.Object({ ...shared, ...OWN[type], writeKey, sentAt });

export const segmentBatch = (callsMax: number) =>
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

export const apiKey = Type.String({ description: 'The key' });

/** One event, or many with the key beside them. */
export const posthogBody = (callsMax: number) =>
  Type.Union([
    Type.Object({
      api_key: apiKey,
      batch: Type.Array(posthogEvent, { minItems: 1, maxItems: callsMax }),
      sent_at: Type.Optional(Type.String({ description: 'When it was sent, by the clock that made the timestamps' })),
    }),
    Type.Object({ ...posthogEvent.properties, api_key: apiKey }),
  ]);

export const flagsBody = Type.Object({ api_key: apiKey });

const rejected = Type.Optional(
  Type.Array(rejectionShape, { description: 'Calls that were malformed, by their place' }),
);

export const segmentAccepted = Type.Object({
  success: Type.Literal(true),
  dropped: Type.Optional(
    Type.Integer({ description: 'Events over the month’s allowance, which were not stored', minimum: 1 }),
  ),
});
export const segmentError = Type.Object({
  success: Type.Literal(false),
  code: Type.String({ description: 'Stable: programs decide by it' }),
  message: Type.String({ description: 'For people; it may change' }),
  rejected,
});

export const posthogAccepted = Type.Object({
  status: Type.Literal(1),
  quota_limited: Type.Optional(
    Type.Array(Type.Literal('events'), {
      description: 'There where events were over the month’s allowance, and not stored',
    }),
  ),
});
export const posthogError = Type.Object({
  type: Type.Enum(['authentication_error', 'throttled_error', 'server_error', 'validation_error']),
  code: Type.String({ description: 'Stable: programs decide by it' }),
  detail: Type.String({ description: 'For people; it may change' }),
  attr: Type.Null(),
  rejected,
});
/** There are no feature flags: the libraries go on when told so. */
export const noFlags = Type.Object({ flags: Type.Object({}), featureFlags: Type.Object({}) });
export const remoteConfig = Type.Object({ token: Type.String(), hasFeatureFlags: Type.Literal(false) });
