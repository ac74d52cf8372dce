import { firstGiven, isAbsentOrObject, objectOr } from '#pipelines/intake/json_text.ts';
import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { type Arrival, clockOf, given, idText, type MappedCall } from './mapped_call.ts';

/** Properties that are the envelope's rather than the event's. */
const ENVELOPE_PROPERTIES = new Set(['token', 'distinct_id', '$insert_id']);

/**
 * Maps one event of PostHog's capture API, in the forms of its server libraries (distinct_id beside the event) and of its
 * browser library (distinct_id and token among the properties, `offset` in milliseconds for the time).
 */
export function mapPosthogEvent(sent: unknown, arrival: Arrival): MappedCall {
  if (!isObject(sent)) return { ok: true, event: sent };
  if (!isAbsentOrObject(sent['properties'])) return { ok: true, event: sent };
  const properties = objectOr(sent['properties']);
  const uuid = firstGiven(idText(sent['uuid']), idText(properties['$insert_id']));
  const distinctId = firstGiven(
    idText(sent['distinct_id']),
    idText(properties['distinct_id']),
    idText(sent['$distinct_id']),
  );
  const event = {
    event: sent['event'],
    uuid,
    distinct_id: distinctId,
    ...happened(sent, uuid, arrival),
    properties: {
      ...ownProperties(properties),
      ...given({ $set: bothOf('$set', sent, properties), $set_once: bothOf('$set_once', sent, properties) }),
      ...(identifies(sent['event']) ? given({ external_id: distinctId }) : {}),
    },
  };
  return { ok: true, event };
}

function identifies(name: unknown): boolean {
  return name === '$identify' || name === '$create_alias' || name === '$merge_dangerously';
}

/** What an event says of its person beside its properties and among them, as PostHog joins them: what stands beside holds. */
function bothOf(name: '$set' | '$set_once', sent: JsonObject, properties: JsonObject): unknown {
  const [beside, among] = [sent[name], properties[name]];
  return isObject(beside) ? { ...objectOr(among), ...beside } : firstGiven(among, beside);
}

function ownProperties(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !ENVELOPE_PROPERTIES.has(name)));
}

const OFFSET_MS_MAX = 30 * 86_400_000;

function happened(sent: JsonObject, uuid: unknown, arrival: Arrival): JsonObject {
  const { offset } = sent;
  const timestamp = firstGiven(sent['timestamp'], objectOr(sent['properties'])['timestamp']);
  const isTold = timestamp === undefined && arrival.isHistorical !== true;
  if (isTold && typeof offset === 'number' && offset >= 0 && offset <= OFFSET_MS_MAX) {
    return { timestamp: new Date(arrival.receivedAtMs - offset).toISOString() };
  }
  const isRight = uuid === undefined || objectOr(sent['properties'])['$ignore_sent_at'] === true;
  return isRight ? { timestamp } : { timestamp, ...clockOf(arrival) };
}
