import { consentOf } from '#pipelines/delivery/consent.ts';
import { conversionName } from '#pipelines/delivery/conversion_names.ts';
import { firstGiven, given, idText, isObject, objectOr } from '#pipelines/intake/compat/foreign.ts';
import { pageArrival } from '#pipelines/intake/page_arrival.ts';
import { readShortText } from '#pipelines/intake/short_text.ts';
import { readForeignTime } from '#pipelines/intake/timestamp.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { ITEMS_MAX, withoutLegacyNames } from './hit_items.ts';
import { areTooMany, parametersOfMeasurements } from './parameter_limits.ts';
import { purchaseId, statedId } from './purchase_id.ts';

/** Google's page on sending events. */
export const MEASUREMENTS_MAX = 25;

/** What says of an event that it came by the Measurement Protocol: the value of its property `$lib`. */
const MEASUREMENT_LIBRARY = 'ga4_mp';

export type MeasurementsRead =
  | { ok: true; events: unknown[] }
  | {
      ok: false;
      problem: 'body_not_object' | 'client_id_missing' | 'events_missing' | 'events_too_many' | 'parameters_too_many';
    };

/**
 * The events of a body of the Measurement Protocol (FACTS section 3), in the form POST /v1/ingest takes them. It comes from
 * a server, so that its times, addresses and user agents are believed.
 *
 * @param secret Makes the ids of purchases that a browser reports as well.
 */
export function readMeasurements(body: unknown, secret: Buffer): MeasurementsRead {
  if (!isObject(body)) return { ok: false, problem: 'body_not_object' };
  if (clientIdOf(body) === undefined) return { ok: false, problem: 'client_id_missing' };
  const { events } = body;
  if (!Array.isArray(events) || events.length === 0) return { ok: false, problem: 'events_missing' };
  if (events.length > MEASUREMENTS_MAX) return { ok: false, problem: 'events_too_many' };
  if (areTooMany(parametersOfMeasurements(events, body))) return { ok: false, problem: 'parameters_too_many' };
  const shared = sharedOf(body);
  const eventOrSent = (event: unknown): unknown => (isObject(event) ? eventOf(event, { body, shared, secret }) : event);
  return { ok: true, events: events.map(eventOrSent) };
}

/** Of a browser the client id, of an app that of its instance. */
export function clientIdOf(body: JsonObject): unknown {
  return firstGiven(idText(body['client_id']), idText(body['app_instance_id']));
}

/** What the request says for all of its events. */
function sharedOf(body: JsonObject): JsonObject {
  const clientId = clientIdOf(body);
  const userId = firstGiven(idText(body['user_id']));
  const place = objectOr(body['user_location']);
  return given({
    client_id: clientId,
    external_id: userId,
    $anon_distinct_id: userId === undefined ? undefined : clientId,
    user_properties: userProperties(body['user_properties']),
    user_data: isObject(body['user_data']) ? body['user_data'] : undefined,
    consent: body['consent'],
    npa: body['non_personalized_ads'],
    client_ip_address: body['ip_override'],
    client_user_agent: body['user_agent'],
    city: place['city'],
    state: typeof place['region_id'] === 'string' ? place['region_id'].replace(/^[A-Z]{2}-/, '') : undefined,
    country: place['country_id'],
    device: isObject(body['device']) ? body['device'] : undefined,
  });
}

/** GA4 wraps each in an object of its value, and of the time it was set. */
function userProperties(sent: unknown): JsonObject | undefined {
  const properties = Object.entries(objectOr(sent)).map(([name, member]): [string, unknown] => [
    name,
    isObject(member) && 'value' in member ? member['value'] : member,
  ]);
  return properties.length === 0 ? undefined : Object.fromEntries(properties);
}

/** What of an event stands beside it. */
interface Around {
  body: JsonObject;
  shared: JsonObject;
  secret: Buffer;
}

function eventOf(event: JsonObject, { body, shared, secret }: Around): JsonObject {
  const { name, params } = event;
  if (params !== undefined && params !== null && !isObject(params)) return { event: name, properties: params };
  const parameters = withItems(objectOr(params));
  const transactionId = idText(parameters['transaction_id']);
  const sessionId = idText(parameters['session_id']);
  const isPurchase = typeof name === 'string' && conversionName(name).canonical === 'purchase';
  const clientId = clientIdOf(body);
  const said = { ...parameters, ...shared };
  const byTransaction = isPurchase ? purchaseId({ transactionId, clientId, caller: 'server' }, secret) : null;
  return given({
    event: name,
    uuid: statedId(idText(parameters['event_id'])) ?? byTransaction ?? readShortText(idText(parameters['event_id'])),
    distinct_id: firstGiven(idText(body['user_id']), clientId),
    timestamp: happened(firstGiven(event['timestamp_micros'], body['timestamp_micros'])),
    properties: {
      ...pageArrival(said['page_location'], consentOf(said).adUserData !== false),
      ...said,
      ...given({
        order_id: firstGiven(parameters['order_id'], transactionId),
        $session_id: sessionId,
        ga_session_id: sessionId,
        $lib: MEASUREMENT_LIBRARY,
        // That of the request does not take the event's own away: either may refuse.
        $consent: firstGiven(parameters['$consent'], shared['consent'] === undefined ? null : parameters['consent']),
      }),
    },
  });
}

function withItems(parameters: JsonObject): JsonObject {
  const { items } = parameters;
  if (!Array.isArray(items)) return parameters;
  const named = items.slice(0, ITEMS_MAX).map((item: unknown) => (isObject(item) ? withoutLegacyNames(item) : item));
  return { ...parameters, items: named };
}

/** Microseconds since 1970 UTC, or another unit that its size tells; what is none stays as it is, to be judged where times are. */
function happened(micros: unknown): unknown {
  const happenedMs = readForeignTime(micros);
  return happenedMs === null ? micros : new Date(happenedMs).toISOString();
}
