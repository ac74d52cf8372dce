// Schemas, failures and examples that the OpenAPI document of the edge shares.

import { type TSchema, Type } from 'typebox';
import type { SegmentCall } from '#pipelines/intake/compat/segment.ts';
import { ELEMENTS_MAX } from '#pipelines/intake/inventory.ts';
import { type DocumentedResponse, failuresByStatus } from '#pipelines/openapi.ts';
import { ACTION_SOURCES } from '#schemas/event.ts';
import { EDGE_ERRORS, type EdgeErrorCode } from './errors.ts';
import { EVENTS_MAX } from './ingest_service.ts';

export const plainText = (description: string) =>
  Type.String({
    description,
    minLength: 1,
    maxLength: 200,
    pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
  });

const identifier = (description: string) => Type.Optional(Type.String({ description }));

/** The properties that mean something to the service; every other one is kept as it is. */
const properties = Type.Object(
  {
    email: identifier('Hashed before it is stored'),
    phone: identifier('Hashed before it is stored, and never kept raw'),
    value: Type.Optional(Type.Number({ description: 'Monetary amount of a conversion' })),
    currency: identifier('Currency of the value'),
    order_id: identifier('Order identifier'),
    first_name: identifier('Hashed before it is stored'),
    last_name: identifier('Hashed before it is stored'),
    city: identifier('For matching customers'),
    zip: identifier('For matching customers'),
    country: identifier('For matching customers'),
    external_id: identifier('Hashed before it is stored'),
    client_ip_address: identifier("The shopper's address, where a server sends"),
    client_user_agent: identifier("The shopper's user agent, where a server sends"),
    $action_source: Type.Optional(
      Type.Enum([...ACTION_SOURCES], { description: 'Where it happened; website by default' }),
    ),
  },
  { additionalProperties: true },
);

export const timeText = Type.String({
  description:
    'ISO 8601, in UTC where it names no offset, of a server not older than two years unless it is historical; arrival by default',
  format: 'date-time',
});

export const eventShape = Type.Object({
  event: plainText('Name of the event'),
  uuid: Type.Optional(plainText('Unique id of the event: the same one is counted once')),
  distinct_id: Type.Optional(plainText('Visitor or user; an anonymous id by default')),
  timestamp: Type.Optional(timeText),
  properties: Type.Optional(properties),
});

export const ingestBody = Type.Object({
  events: Type.Array(eventShape, { minItems: 1, maxItems: EVENTS_MAX }),
  sent_at: Type.Optional(
    Type.Union([Type.String({ format: 'date-time' }), Type.Integer({ minimum: 0 })], {
      description:
        'When it is sent, by the clock that made the timestamps: ISO 8601, or milliseconds since 1970 UTC (another unit is told by its size). Where that is off by more than 5 minutes, the timestamps are moved by as much',
    }),
  ),
  historical_migration: Type.Optional(
    Type.Boolean({
      description:
        'Whether the events are of the past, since 2005: they are measured at their own times, and go to no destination. Only with a server key of a site in online mode; each needs a timestamp, and a visitor or customer',
    }),
  ),
});

const optionalText = (maxLength: number) => Type.Optional(Type.Union([Type.String({ maxLength }), Type.Null()]));

export const elementShape = Type.Object({
  type: Type.String({ minLength: 1, maxLength: 100 }),
  selector: Type.String({ minLength: 1, maxLength: 2048 }),
  text: Type.String(),
  href: optionalText(2048),
  event_hint: optionalText(200),
});

export const inventoryBody = Type.Object({
  page: Type.String({ minLength: 1, maxLength: 2048 }),
  url: Type.String({ minLength: 1, maxLength: 2048 }),
  title: Type.String({ maxLength: 1000 }),
  elements: Type.Array(elementShape, { maxItems: ELEMENTS_MAX }),
});

export const rejectionShape = Type.Object({
  index: Type.Integer({ description: 'Place of the event in the request', minimum: 0 }),
  code: Type.String({ description: 'Stable' }),
  message: Type.String(),
});

export const errorShape = Type.Object({
  error: Type.Object({
    code: Type.String({ description: 'Stable: programs decide by it' }),
    message: Type.String({ description: 'For people; it may change' }),
  }),
  rejected: Type.Optional(Type.Array(rejectionShape)),
});

/** One response for each status, naming the codes it may carry. */
export const failures = (codes: readonly EdgeErrorCode[]): DocumentedResponse[] =>
  failuresByStatus(codes, { errors: EDGE_ERRORS, schema: errorShape });

/** Why the key of a request is refused. */
export const KEY_ERRORS = [
  'key_repeated',
  'key_missing',
  'key_invalid',
  'key_revoked',
  'key_expired',
  'key_not_for_browsers',
  'origin_not_allowed',
] as const satisfies EdgeErrorCode[];
/** What a route with a body may answer beside that. */
export const BODY_ERRORS = [
  'request_malformed',
  'body_undecodable',
  'body_not_json',
  'body_too_complex',
  'body_too_large',
  'content_type_unsupported',
  'content_encoding_unsupported',
  'internal',
  'overloaded',
  'not_acknowledged',
] as const satisfies EdgeErrorCode[];

export const KEYED = { security: ['keyHeader', 'keyQuery'] };
export const jsonBody = (schema: TSchema, example: object) => ({
  contentTypes: ['application/json', 'text/plain'],
  schema,
  example,
});

/** Bodies as people would send them; a test sends each to an edge. */
export const INGEST_EXAMPLE = {
  events: [
    {
      event: 'purchase',
      uuid: 'order-3001',
      distinct_id: 'customer-1',
      properties: { value: 12.5, currency: 'EUR', order_id: '3001', email: 'me@example.com' },
    },
  ],
};

export const INVENTORY_EXAMPLE = {
  page: '/checkout',
  url: 'https://shop.example/checkout',
  title: 'Checkout',
  elements: [{ type: 'button', selector: '#buy', text: 'Buy now', event_hint: 'purchase' }],
};

const call = { messageId: 'call-1', userId: 'customer-1' };

export const SEGMENT_EXAMPLES: Readonly<Record<SegmentCall, object>> = {
  track: { ...call, event: 'Order Completed', properties: { revenue: 12.5, currency: 'EUR' } },
  identify: { ...call, anonymousId: 'visitor-1', traits: { email: 'me@example.com' } },
  page: { ...call, name: 'Home', properties: { url: 'https://shop.example/' } },
  screen: { ...call, name: 'Cart' },
  group: { ...call, groupId: 'acme', traits: { plan: 'pro' } },
  alias: { ...call, previousId: 'visitor-1' },
};

export const SEGMENT_BATCH_EXAMPLE = {
  batch: [
    { type: 'identify', ...SEGMENT_EXAMPLES.identify },
    { type: 'track', ...SEGMENT_EXAMPLES.track, messageId: 'call-2' },
  ],
};

export const POSTHOG_EXAMPLE = {
  api_key: 'svc_sk_YOUR_KEY',
  batch: [
    {
      event: 'purchase',
      uuid: '0190a6f0-0000-7000-8000-000000000001',
      distinct_id: 'customer-1',
      properties: { value: 12.5, currency: 'EUR' },
    },
  ],
};

export const FLAGS_EXAMPLE = { api_key: 'svc_pk_YOUR_KEY', distinct_id: 'customer-1' };
