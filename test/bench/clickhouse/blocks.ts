import { hash } from 'node:crypto';
import { type ColumnarEvent, columnarEvents } from '#infra/clickhouse/inserts/event_columns.ts';
import { consentState, NOTHING_SAID } from '#pipelines/events/consent.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import type { Event } from '#schemas/event.ts';
import { type EncodedEvent, encodeEvent, encodePerson } from '#schemas/event_batch.ts';
import { chanceOf } from '#test/harness/hostile/random.ts';
import { browserTraffic, serverEvents } from '../traffic.ts';

const SITE = 'flow-bench';
const PARTITIONS = 12;
const PER_REQUEST = 50;
/** What lies between an event and its arrival. */
const chance = chanceOf(1);
const EMAIL_SHA256 = hash('sha256', 'visitor@example.com', 'hex');

interface Sent {
  event: string;
  uuid: string;
  distinct_id: string;
  properties: Record<string, unknown>;
}

/** Events that came together, and what the edge knows of who sent them. */
interface Sending {
  events: Sent[];
  sender: Pick<Event, 'caller' | 'client_ip' | 'client_user_agent'>;
}

/** Fifty events of a visitor, in a record of a server. */
const fromServers = (): Sending => ({
  events: serverEvents(PER_REQUEST) as Sent[],
  sender: { caller: 'server', client_ip: null, client_user_agent: null },
});

/** One to three events of the tag in a record, and few of a visitor in a block. */
function fromBrowsers(): () => Sending {
  const next = browserTraffic('bench', false);
  return () => {
    const { body, headers } = next();
    const { 'x-forwarded-for': client_ip = null, 'user-agent': client_user_agent = null } = headers;
    const { events } = JSON.parse(body.toString()) as { events: Sent[] };
    return { events, sender: { caller: 'browser', client_ip, client_user_agent } };
  };
}

/**
 * Blocks of rows as the warehouse makes them of the events that the other benches send, at a steady rate from a given time on.
 */
export function blockMaker(
  rows: number,
  eventsPerSecond: number,
  fromMs: number,
  caller: Event['caller'],
): () => ColumnarEvent[] {
  const next = caller === 'server' ? fromServers : fromBrowsers();
  let [made, records] = [0, 0];
  const record = (): EncodedEvent[] => {
    const [number, receivedAtMs] = [records++, fromMs + Math.floor((made * 1000) / eventsPerSecond)];
    const { events, sender } = next();
    made += events.length;
    return events.map((sent, index) =>
      encoded(sent, sender, receivedAtMs, {
        partition: number % PARTITIONS,
        offset: Math.floor(number / PARTITIONS),
        index,
      }),
    );
  };
  return () => {
    const views: EncodedEvent[] = [];
    while (views.length < rows) views.push(...record());
    return columnarEvents(views.slice(0, rows), (_site, sha256) => sha256).rows;
  };
}

function encoded(
  sent: Sent,
  sender: Sending['sender'],
  receivedAtMs: number,
  coordinate: EncodedEvent['coordinate'],
): EncodedEvent {
  const { value = null, currency = null, email, ...properties } = sent.properties as Record<string, string>;
  const event: Event = {
    site_id: SITE,
    event_id: sent.uuid,
    distinct_id: sent.distinct_id,
    received_at: receivedAtMs,
    event: sent.event,
    timestamp: receivedAtMs - chance.below(20),
    original_timestamp: null,
    mode: 'online',
    action_source: 'website',
    identify: false,
    identifiers: email === undefined ? null : { ...noIdentifiers(), email: EMAIL_SHA256 },
    city: null,
    state: null,
    zip: null,
    country: null,
    value: value === null ? null : Number(value),
    currency,
    order_id: null,
    properties: JSON.stringify(properties),
    previous_distinct_id: null,
    further_identifiers: [],
    key_id: 'k'.repeat(16),
    consent: consentState(NOTHING_SAID, null),
    ...sender,
  };
  return {
    coordinate,
    personBytes: encodePerson({ person_id: basePersonId(SITE, sent.distinct_id), identifiers: null }),
    eventBytes: encodeEvent(event),
    siteId: SITE,
    eventId: sent.uuid,
    distinctId: sent.distinct_id,
    receivedAtMs,
  };
}
