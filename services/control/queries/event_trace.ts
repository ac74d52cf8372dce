// What became of one event, from the edge to each destination.

import { type Static, Type } from 'typebox';
import type { DeadLetterView } from '#infra/redelivery/dead_letter_store.ts';
import { type EventTrace, eventTraceShape } from '#pipelines/analytics/event_trace/answer.ts';
import * as tracing from '#pipelines/analytics/event_trace/trace.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { sentId } from '#pipelines/intake/event_id.ts';
import { keyIdOf } from '#pipelines/settings/callers.ts';
import { closed, idField, timeField } from '#services/control_api/fields.ts';
import type { ControlErrorCode } from '../errors.ts';
import {
  type ControlServices,
  type GatheredAnswer,
  type Input,
  inSite,
  type RequestContext,
  refused,
  resource,
  route,
  rowsOf,
} from '../route.ts';

const EVENT_ID_CHARACTERS_MAX = 200;
/** Equal questions of one second share an answer. */
const CACHE_MS = 1_000;

const eventParams = closed({
  site_id: idField('The site'),
  event_id: Type.String({
    description: 'The event, by the id that its row has: the UUID it was sent with, or the one that was made for it',
    minLength: 1,
    maxLength: EVENT_ID_CHARACTERS_MAX,
  }),
});

const RECEIVED = Date.UTC(2027, 0, 5, 12);

/** An answer as people would get it; a test holds it against its schema. */
const EVENT_TRACE_EXAMPLE: EventTrace & { as_of: number } = {
  site_id: 'acme-shop',
  event_id: 'order-2001',
  accepted: {
    received_at: RECEIVED,
    caller: 'server',
    key: { key_id: '9f86d081884c7d65', shown_prefix: 'svc_sk_AbCd', label: 'till' },
    coordinate: { partition: 3, offset: 41_007, index: 0 },
  },
  row: {
    event: 'purchase',
    timestamp: RECEIVED - 2_000,
    original_timestamp: null,
    distinct_id: 'till-7',
    mode: 'online',
    action_source: 'physical_store',
    identify: true,
    identifiers: { email: '2c26b46b' },
    city: '',
    state: '',
    zip: '',
    country: 'BE',
    client_ip: '',
    client_user_agent: '',
    value: 12.5,
    currency: 'EUR',
    order_id: '2001',
    ad_storage: 'granted',
    analytics_storage: 'granted',
    ad_user_data: 'denied',
    ad_personalization: 'denied',
    consent_defaults: 'ad_user_data,ad_personalization',
    limited_data_use: false,
    historical: false,
    geo_country: '',
    geo_region: '',
    geo_city: '',
    browser: '',
    browser_version: '',
    os: '',
    os_version: '',
    device_type: '',
    language: '',
    screen_class: '',
    properties: { plan: 'paid' },
  },
  rows_stored: 1,
  duplicates: {
    seen: 1,
    copies: [
      {
        received_at: RECEIVED + 3_000,
        event: 'purchase',
        key: { key_id: '9f86d081884c7d65', shown_prefix: 'svc_sk_AbCd', label: 'till' },
        coordinate: { partition: 3, offset: 41_012, index: 0 },
        times: 1,
      },
    ],
  },
  person: {
    person_id: 'p_0b7e',
    arrived_person_id: 'p_51c9',
    distinct_person_id: 'p_51c9',
    links: [{ person_id: 'p_51c9', target: 'p_0b7e', since: RECEIVED + 60_000, first_seen: RECEIVED - 86_400_000 }],
    identified_by: [{ identifier: 'email', digest_begin: '2c26b46b', since: RECEIVED, event_id: 'order-2001' }],
  },
  destinations: [
    {
      destination: 'webhook',
      state: 'delivered',
      reason: '',
      attempts: [
        {
          attempt: 1,
          attempted_at: RECEIVED + 400,
          outcome: 'diverted',
          reason: 'http_503',
          took_ms: 31,
          answer: { status: 503, body: 'try again later' },
        },
        {
          attempt: 2,
          attempted_at: RECEIVED + 61_000,
          outcome: 'delivered',
          reason: '',
          took_ms: 28,
          answer: { status: 200, body: '' },
        },
      ],
    },
  ],
  dead_letters: null,
  status: [
    'Accepted 2027-01-05T12:00:00.000Z with the server key svc_sk_AbCd… (till), as event 0 of events.raw 3/41007.',
    'Stored as "purchase" of distinct id "till-7", happened 2027-01-05T11:59:58.000Z.',
    'It came once more, 2027-01-05T12:00:03.000Z, and was dropped as a duplicate.',
    'Its person is p_0b7e: p_51c9, whom its distinct id stands for, became part of them 2027-01-05T12:01:00.000Z.',
    'The distinct id was first identified by email (SHA-256 2c26b46b…) 2027-01-05T12:00:00.000Z, by event "order-2001".',
    'webhook: delivered 2027-01-05T12:01:01.000Z, attempted 2 times, answered 200.',
  ],
  as_of: RECEIVED + 120_000,
};

/** Ends a trace that a source did not answer. */
class SourceRefusal extends Error {
  readonly code: ControlErrorCode;

  constructor(code: ControlErrorCode) {
    super(code);
    this.code = code;
  }
}

export const eventTraceRoutes = resource('Queries', [
  route('GET', '/v1/query/{site_id}/events/{event_id}', 'getEvent', {
    access: inSite('query.events'),
    summary:
      'What became of one event: when it was accepted, its row, its person and why, and each attempt to deliver it',
    params: eventParams,
    success: {
      status: 200,
      schema: Type.Object(
        { ...eventTraceShape.properties, as_of: timeField('When ClickHouse was queried') },
        { examples: [EVENT_TRACE_EXAMPLE] },
      ),
      description: 'What is known of it',
    },
    errors: [
      'site_unknown',
      'event_unknown',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'query_unavailable',
      'dead_letters_unavailable',
    ],
    gather: traceEvent,
  }),
]);

async function traceEvent(input: Input, sources: ControlServices, world: RequestContext): Promise<GatheredAnswer> {
  const { site_id: siteId, event_id: sent } = input.params as Static<typeof eventParams>;
  if (world.view.table.site(siteId) === undefined) return refused('site_unknown');
  try {
    const trace = await gatherTrace(siteId, sentId(sent), sources, world);
    if (trace === null) return refused('event_unknown');
    sources.wasRead(siteId, 'event', 1);
    return { kind: 'answered', body: { ...trace, as_of: world.nowMs } };
  } catch (error) {
    if (error instanceof SourceRefusal) return refused(error.code);
    throw error;
  }
}

async function gatherTrace(siteId: string, eventId: string, sources: ControlServices, world: RequestContext) {
  const { deadLetters } = sources;
  const rowsOrCode = <Row>(statement: Statement): Promise<Row[] | ControlErrorCode> =>
    rowsOf(sources, { siteId, about: 'event', asked: { rows_of: 'event' }, statement, cacheTtlMs: CACHE_MS });
  const run = async <Row>(statement: Statement): Promise<Row[]> => {
    const rows = await rowsOrCode<Row>(statement);
    if (typeof rows === 'string') throw new SourceRefusal(rows);
    return rows;
  };
  const [rows, attempts, duplicates] = await Promise.all([
    run<tracing.StoredEventRow>(tracing.storedEventStatement(siteId, eventId)),
    run<tracing.AttemptRow>(tracing.attemptsStatement(siteId, eventId)),
    run<tracing.DuplicateRow>(tracing.duplicatesStatement(siteId, eventId)),
  ]);
  const [first] = rows;
  const found = { siteId, eventId, rows, attempts, duplicates, ...settingsOf(siteId, world) };
  if (first === undefined) {
    const dead = await deadLetters.ofEvent(siteId, eventId);
    return tracing.eventTrace({ ...found, links: [], identified: null, deadLetters: dead.map(deadLetterOf) });
  }
  const [links, identified] = await Promise.all([
    run<tracing.LinkRow>(tracing.linksStatement(siteId, tracing.personHistory(siteId, first))),
    rowsOrCode<tracing.IdentifiedRow>(tracing.identifiedStatement(siteId, first.distinct_id)),
  ]);
  if (identified === 'query_unavailable') throw new SourceRefusal(identified);
  return tracing.eventTrace({
    ...found,
    links,
    deadLetters: null,
    identified: typeof identified === 'string' ? null : identified,
  });
}

function settingsOf(siteId: string, world: RequestContext) {
  return { destinations: destinationsOf(siteId, world), keys: keysOf(siteId, world) };
}

function destinationsOf(siteId: string, { view }: RequestContext): tracing.TracedDestination[] {
  return view.table
    .destinations()
    .filter(({ site_id }) => site_id === siteId)
    .map(({ name, enabled, created_at }) => ({ name, enabled, createdAtMs: created_at ?? null }));
}

function keysOf(siteId: string, { view }: RequestContext): tracing.TracedKey[] {
  return [...view.table.keysOfSite(siteId).values()].map(({ key_hash, shown_prefix, label }) => ({
    keyId: keyIdOf(key_hash),
    shownPrefix: shown_prefix,
    label,
  }));
}

function deadLetterOf({ id, deadLetter, resentAtMs }: DeadLetterView): tracing.TracedDeadLetter {
  const { stage, reason, died_at } = deadLetter;
  return { id, stage, reason, died_at, resent_at: resentAtMs };
}
