// The Measurement Protocol: requests as events, what its validation says, and its limits of names.
import { consentOf } from '#pipelines/events/consent.ts';
import { conversionName } from '#pipelines/events/vocabulary.ts';
import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { given, idText, pageArrival } from '../compat/mapped_call.ts';
import { readShortText } from '../field_rules.ts';
import { firstGiven, isAbsentOrObject, objectOr, sharedProblem } from '../json_text.ts';
import { readForeignTime } from '../timestamp.ts';
import { areTooMany, parametersOfMeasurements } from './hits.ts';
import { ITEMS_MAX, purchaseId, statedId, withoutLegacyNames } from './items.ts';

/** Google's page on sending events. */
export const MEASUREMENTS_MAX = 25;

/** What says of an event that it came by the Measurement Protocol: the value of its property `$lib`. */
const MEASUREMENT_LIBRARY = 'ga4_mp';

export type MeasurementsProblem =
  | 'body_not_object'
  | 'client_id_missing'
  | 'events_missing'
  | 'events_too_many'
  | 'parameters_too_many';
type MeasurementsRead = { ok: true; events: unknown[] } | { ok: false; problem: MeasurementsProblem };

/**
 * The events of a body of the Measurement Protocol
 * (https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference), in the form POST /v1/ingest takes
 * them. It comes from a server, so that its times, addresses and user agents are believed.
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
  if (sharedProblem(shared, events.length) !== null) return { ok: false, problem: 'parameters_too_many' };
  const eventOrSent = (event: unknown): unknown => (isObject(event) ? eventOf(event, { body, shared, secret }) : event);
  return { ok: true, events: events.map(eventOrSent) };
}

/** Of a browser the client id, of an app that of its instance. */
function clientIdOf(body: JsonObject): unknown {
  return firstGiven(idText(body['client_id']), idText(body['app_instance_id']));
}

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

interface Around {
  body: JsonObject;
  shared: JsonObject;
  secret: Buffer;
}

function eventOf(event: JsonObject, { body, shared, secret }: Around): JsonObject {
  const { name, params } = event;
  if (!isAbsentOrObject(params)) return { event: name, properties: params };
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
      ...pageArrival(said['page_location'], consentOf(said).ad_user_data !== false),
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

/** A problem in the form of Google's validation server. Nothing that was sent is in it: what is meant is said by its place. */
interface MeasurementProblem {
  fieldPath: string;
  description: string;
  validationCode: 'VALUE_REQUIRED' | 'VALUE_INVALID' | 'NAME_INVALID' | 'NAME_RESERVED' | 'EXCEEDED_MAX_ENTITIES';
}

const EVENT_NAME = /^[A-Za-z][A-Za-z0-9_]{0,39}$/;
const PARAMETERS_MAX = 25;
const USER_PROPERTIES_MAX = 25;
const PROBLEMS_MAX = 100;

/** What Google's validation would object to in a body of the Measurement Protocol: names, numbers and lengths. */
export function measurementProblems(body: unknown): MeasurementProblem[] {
  if (!isObject(body)) return [required('', 'The body must be a JSON object.')];
  const { events } = body;
  const problems = [
    ...(clientIdOf(body) === undefined ? [required('client_id', 'client_id is required.')] : []),
    ...userPropertyProblems(body['user_properties']),
  ];
  if (!Array.isArray(events) || events.length === 0) {
    return [...problems, required('events', 'events must be a list with at least one event.')];
  }
  if (events.length > MEASUREMENTS_MAX) {
    return [...problems, tooMany('events', `events must not hold more than ${MEASUREMENTS_MAX} events.`)];
  }
  return [...problems, ...events.flatMap(eventProblems)].slice(0, PROBLEMS_MAX);
}

function userPropertyProblems(sent: unknown): MeasurementProblem[] {
  const names = Object.keys(objectOr(sent));
  if (names.length > USER_PROPERTIES_MAX) {
    return [tooMany('user_properties', `user_properties must not hold more than ${USER_PROPERTIES_MAX}.`)];
  }
  const description = 'A user property has a name that Google reserves or does not take.';
  return names
    .filter((name) => !isUserPropertyName(name))
    .map(() => ({ fieldPath: 'user_properties', description, validationCode: 'NAME_INVALID' }));
}

function eventProblems(event: unknown, at: number): MeasurementProblem[] {
  const path = `events[${at}]`;
  if (!isObject(event)) {
    return [{ fieldPath: path, description: 'An event must be an object.', validationCode: 'VALUE_INVALID' }];
  }
  return [...nameProblems(event['name'], `${path}.name`), ...parameterProblems(event, `${path}.params`)];
}

function nameProblems(name: unknown, fieldPath: string): MeasurementProblem[] {
  if (name === undefined || name === '') return [required(fieldPath, 'name is required.')];
  if (typeof name !== 'string' || !EVENT_NAME.test(name)) {
    const description = 'A name must begin with a letter and have at most 40 letters, digits and underscores.';
    return [{ fieldPath, description, validationCode: 'NAME_INVALID' }];
  }
  if (!isReservedEventName(name)) return [];
  return [{ fieldPath, description: 'The name is one that Google reserves.', validationCode: 'NAME_RESERVED' }];
}

function parameterProblems({ params }: JsonObject, fieldPath: string): MeasurementProblem[] {
  if (params === undefined) return [];
  if (!isObject(params))
    return [{ fieldPath, description: 'params must be an object.', validationCode: 'VALUE_INVALID' }];
  const names = Object.keys(params);
  const description = 'A parameter has a name that Google reserves or does not take.';
  const invalid = names.filter((name) => !isParameterName(name));
  return [
    ...(names.length > PARAMETERS_MAX ? [tooMany(fieldPath, `params must not hold more than ${PARAMETERS_MAX}.`)] : []),
    ...invalid.map((): MeasurementProblem => ({ fieldPath, description, validationCode: 'NAME_INVALID' })),
  ];
}

function required(fieldPath: string, description: string): MeasurementProblem {
  return { fieldPath, description, validationCode: 'VALUE_REQUIRED' };
}

function tooMany(fieldPath: string, description: string): MeasurementProblem {
  return { fieldPath, description, validationCode: 'EXCEEDED_MAX_ENTITIES' };
}

/** Limits of the Measurement Protocol's page on sending events. */
export const NAME_CHARACTERS_MAX = 40;

const RESERVED_EVENTS = new Set(
  [
    'ad_activeview ad_click ad_exposure ad_impression ad_query adunit_exposure app_clear_data app_install app_remove',
    'app_store_refund app_store_subscription_cancel app_store_subscription_convert app_store_subscription_renew',
    'app_update error first_open first_visit in_app_purchase notification_dismiss notification_foreground',
    'notification_open notification_receive os_update screen_view session_start user_engagement',
  ].flatMap((list) => list.split(' ')),
);
const RESERVED_PREFIX = /^(_|firebase_|ga_|google_|gtag\.)/;
const RESERVED_PROPERTIES = new Set(
  'first_open_time first_visit_time last_deep_link_referrer user_id first_open_after_install'.split(' '),
);
const NAME = /^[a-zA-Z][a-zA-Z0-9_]*$/;

/** Whether Google keeps the name for events of its own. */
export const isReservedEventName = (name: string): boolean => RESERVED_EVENTS.has(name) || RESERVED_PREFIX.test(name);

/** Whether a property may go as an event parameter under its own name. */
export const isParameterName = (name: string): boolean =>
  NAME.test(name) &&
  name.length <= NAME_CHARACTERS_MAX &&
  !RESERVED_PREFIX.test(name) &&
  name !== 'firebase_conversion';

/** Whether a property may go as a user property under its own name. */
export const isUserPropertyName = (name: string): boolean =>
  NAME.test(name) && name.length <= 24 && !RESERVED_PREFIX.test(name) && !RESERVED_PROPERTIES.has(name);
