import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import {
  type Arrival,
  correctedTime,
  firstGiven,
  given,
  idText,
  isObject,
  linkEvent,
  type MappedCall,
  objectOr,
} from './foreign.ts';

/** Properties that are the envelope's rather than the event's. */
const ENVELOPE_PROPERTIES = new Set(['token', 'distinct_id', '$insert_id']);

/**
 * Maps one event of PostHog's capture API, in the forms of its server libraries (distinct_id beside the event) and of its
 * browser library (distinct_id and token among the properties, `offset` in milliseconds for the time). An $identify
 * that names the id used before, and a $create_alias, link the two ids.
 */
export function mapPosthogEvent(sent: unknown, arrival: Arrival): MappedCall {
  if (!isObject(sent)) return { ok: true, events: [sent] };
  if (!isAbsentOrObject(sent['properties'])) return { ok: true, events: [sent] };
  const properties = objectOr(sent['properties']);
  const uuid = firstGiven(idText(sent['uuid']), idText(properties['$insert_id']));
  const distinctId = idText(firstGiven(sent['distinct_id'], properties['distinct_id'], sent['$distinct_id']));
  const timestamp = happened(sent, uuid, arrival);
  const previousId = previousIdOf(sent['event'], properties, distinctId);
  const event = {
    event: sent['event'],
    uuid,
    distinct_id: distinctId,
    timestamp,
    properties: {
      ...given({ $set: sent['$set'], $set_once: sent['$set_once'] }),
      ...ownProperties(properties),
      ...(identifies(sent['event']) ? given({ external_id: distinctId }) : {}),
    },
  };
  if (previousId === undefined) return { ok: true, events: [event] };
  const link = linkEvent({ uuid, timestamp, previousId, userId: distinctId, properties: linkProperties(properties) });
  return { ok: true, events: [event, link] };
}

function isAbsentOrObject(value: unknown): boolean {
  return value === undefined || value === null || isObject(value);
}

function identifies(name: unknown): boolean {
  return name === '$identify' || name === '$create_alias' || name === '$merge_dangerously';
}

function previousIdOf(name: unknown, properties: JsonObject, distinctId: unknown): unknown {
  if (!identifies(name)) return undefined;
  const previousId = idText(firstGiven(properties[name === '$identify' ? '$anon_distinct_id' : 'alias']));
  return distinctId === undefined || previousId === distinctId ? undefined : previousId;
}

function ownProperties(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !ENVELOPE_PROPERTIES.has(name)));
}

/** Of the event that links, only what says which device and library sent it. */
function linkProperties(properties: JsonObject): JsonObject {
  const { $ip, $raw_user_agent, $lib, $lib_version } = properties;
  return given({ $ip, $raw_user_agent, $lib, $lib_version });
}

const OFFSET_MS_MAX = 30 * 86_400_000;

function happened(sent: JsonObject, uuid: unknown, arrival: Arrival): unknown {
  const { offset } = sent;
  const timestamp = firstGiven(sent['timestamp'], objectOr(sent['properties'])['timestamp']);
  if (timestamp === undefined && typeof offset === 'number' && offset >= 0 && offset <= OFFSET_MS_MAX) {
    return new Date(arrival.receivedAtMs - offset).toISOString();
  }
  const isRight = uuid === undefined || objectOr(sent['properties'])['$ignore_sent_at'] === true;
  return isRight ? timestamp : correctedTime(timestamp, arrival);
}
