// Rows of GA4's export to BigQuery as events.
import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { given, idText } from '../compat/mapped_call.ts';
import { firstGiven, objectOr } from '../json_text.ts';
import { type MeasurementsProblem, readMeasurements } from './measurement_protocol.ts';

/** What says of an event that it is from GA4's export: the value of its property `$lib`. */
const EXPORT_LIBRARY = 'ga4_export';

type ExportedRead = { ok: true; event: JsonObject } | { ok: false; problem: MeasurementsProblem };

/**
 * The event of a row of a table `events_YYYYMMDD` (https://developers.google.com/analytics/bigquery/event-schema) as JSON, where
 * whole numbers are texts: what the Measurement Protocol would have said of it, read by the same rules. It has no id: that is for
 * who reads the file to make.
 */
export function mapExportedEvent(row: JsonObject): ExportedRead {
  if (!REPEATED.every((name) => firstGiven(row[name]) === undefined || Array.isArray(row[name])))
    return { ok: false, problem: 'body_not_object' };
  const userId = idText(row['user_id']);
  const parameters = valuesOf(row['event_params']);
  const ecommerce = objectOr(row['ecommerce']);
  const geo = objectOr(row['geo']);
  const items = Array.isArray(row['items']) ? row['items'].filter(isObject).map(itemOf) : [];
  const params = given({
    transaction_id: stated(ecommerce['transaction_id']),
    value: firstGiven(numberOf(ecommerce['purchase_revenue']), numberOf(ecommerce['refund_value'])),
    session_id: idText(parameters['ga_session_id']),
    ...campaignOf(objectOr(row['collected_traffic_source'])),
    ...parameters,
    items: items.length === 0 ? undefined : items,
  });
  const read = readMeasurements(
    given({
      client_id: firstGiven(idText(row['user_pseudo_id']), userId),
      user_id: userId,
      timestamp_micros: row['event_timestamp'],
      user_properties: wrapped(valuesOf(row['user_properties'])),
      user_location: given({ city: stated(geo['city']), country_id: countryCode(geo['country']) }),
      device: deviceOf(objectOr(row['device'])),
      consent: consentOf(objectOr(row['privacy_info'])),
      events: [{ name: row['event_name'], params }],
    }),
    // It would make ids of purchases that no browser here has reported.
    NO_SECRET,
  );
  if (!read.ok) return read;
  const { uuid: _made, properties, ...event } = read.events[0] as JsonObject;
  return { ok: true, event: { ...event, properties: { ...objectOr(properties), $lib: EXPORT_LIBRARY } } };
}

/** Columns that are lists; read otherwise nothing would be left of them. */
const REPEATED = ['event_params', 'user_properties', 'items'];

const NO_SECRET = Buffer.alloc(32);
/** What GA4 writes where it has nothing. */
const NOTHING = new Set(['', '(not set)', '(none)', '(data not available)']);

const stated = (value: unknown): unknown => (typeof value === 'string' && NOTHING.has(value) ? undefined : value);

/** A repeated record of keys and values, each in the column of its type. */
function valuesOf(list: unknown): JsonObject {
  const values = new Map<string, unknown>();
  for (const one of Array.isArray(list) ? list : []) {
    if (!isObject(one) || typeof one['key'] !== 'string') continue;
    const { string_value: text, int_value: whole, float_value: float, double_value: double } = objectOr(one['value']);
    const value = firstGiven(text, numberOf(whole), numberOf(double), numberOf(float));
    if (value !== undefined) values.set(one['key'], value);
  }
  return Object.fromEntries(values);
}

/** A number, also as a text; one that would be rounded stays a text. */
function numberOf(value: unknown): unknown {
  if (typeof value !== 'string' || value.trim() === '') return typeof value === 'number' ? value : undefined;
  const number = Number(value);
  if (Number.isNaN(number)) return undefined;
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? value : number;
}

const wrapped = (values: JsonObject): JsonObject | undefined => (Object.keys(values).length === 0 ? undefined : values);

/** Of items its numbers, and other names than the protocol's. */
const ITEM_NUMBERS = ['price', 'quantity', 'index', 'discount'];

function itemOf(item: JsonObject): JsonObject {
  const { item_params: own, item_list_index: index, coupon, ...rest } = item;
  const fields = { ...valuesOf(own), index, coupon, ...rest };
  const kept = Object.entries(fields).map(([name, value]): [string, unknown] => [
    name,
    ITEM_NUMBERS.includes(name) ? numberOf(stated(value)) : stated(value),
  ]);
  return given(Object.fromEntries(kept.filter(([name]) => !name.endsWith('_in_usd'))));
}

/** How the event itself came about; `traffic_source` is of the first visit. */
function campaignOf(source: JsonObject): JsonObject {
  return {
    utm_source: stated(source['manual_source']),
    utm_medium: stated(source['manual_medium']),
    utm_campaign: stated(source['manual_campaign_name']),
    utm_id: stated(source['manual_campaign_id']),
    utm_term: stated(source['manual_term']),
    utm_content: stated(source['manual_content']),
    gclid: stated(source['gclid']),
  };
}

/** In the protocol's words. */
function deviceOf(device: JsonObject): JsonObject | undefined {
  const web = objectOr(device['web_info']);
  const said = given({
    category: device['category'],
    language: device['language'],
    operating_system: device['operating_system'],
    operating_system_version: device['operating_system_version'],
    brand: device['mobile_brand_name'],
    model: device['mobile_model_name'],
    browser: firstGiven(web['browser'], device['browser']),
    browser_version: firstGiven(web['browser_version'], device['browser_version']),
  });
  return wrapped(said);
}

const CHOICES: Readonly<Record<string, string>> = { yes: 'GRANTED', no: 'DENIED' };

function consentOf(privacy: JsonObject): JsonObject | undefined {
  const choice = (said: unknown): string | undefined => CHOICES[String(said).toLowerCase()];
  return wrapped(
    given({ analytics_storage: choice(privacy['analytics_storage']), ad_storage: choice(privacy['ads_storage']) }),
  );
}

/** Where GA4's English name of a country is not that of CLDR. */
const OTHER_NAMES: readonly (readonly [string, string])[] = [
  ['Turkey', 'TR'],
  ['Türkiye', 'TR'],
  ['Czech Republic', 'CZ'],
  ['Macedonia', 'MK'],
  ['Swaziland', 'SZ'],
  ['Hong Kong', 'HK'],
  ['Macao', 'MO'],
  ['Palestine', 'PS'],
];
let codesByName: ReadonlyMap<string, string> | null = null;

/** The code of a country by its English name; undefined for what is none. */
function countryCode(name: unknown): string | undefined {
  if (typeof name !== 'string' || NOTHING.has(name)) return undefined;
  codesByName ??= readCodes();
  return codesByName.get(foldName(name));
}

const foldName = (name: string): string => name.toLowerCase().replaceAll(' and ', ' & ').replaceAll('’', "'");

function readCodes(): ReadonlyMap<string, string> {
  const names = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  // Those that were given up, as DD, are written as the ones that took their place, whose names they have.
  const inUse = codes.filter((code) => Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`);
  const named = inUse.map((code): [string, string] => [names.of(code) ?? '', code]);
  const known = [...named, ...OTHER_NAMES].filter(([name]) => name !== '');
  return new Map(known.map(([name, code]): [string, string] => [foldName(name), code]));
}
