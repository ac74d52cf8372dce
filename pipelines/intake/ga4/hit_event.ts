// Hits of GA4 as events.
import { consentOf } from '#pipelines/events/consent.ts';
import { conversionName } from '#pipelines/events/vocabulary.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { asSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import type { Caller } from '#schemas/event.ts';
import { given, idText, pageArrival } from '../compat/mapped_call.ts';
import { digestId } from '../event_id.ts';
import { canonicalJson } from '../json_text.ts';
import { type Hit, numberOr, textOf } from './hits.ts';
import { itemsOfHit, namesOf, purchaseId, statedId } from './items.ts';

/** What says of an event that GA4's own tag sent it: the value of its property `$lib`. */
export const GTAG_LIBRARY = 'ga4';

/** Keys of the wire that are texts, and what they are called in GA4's reports, or by the parameters of a campaign. */
const TEXTS = namesOf(
  'cid:client_id uid:external_id sid:ga_session_id dl:page_location dr:page_referrer dt:page_title dp:page_path',
  'ul:language sr:screen_resolution cu:currency cs:utm_source cm:utm_medium cn:utm_campaign ck:utm_term',
  'cc:utm_content ci:utm_id tt:traffic_type ir:ignore_referrer gcs:gcs gcd:gcd dma:dma dma_cps:dma_cps npa:npa',
  'us_privacy:us_privacy',
);
const NUMBERS = namesOf('sct:ga_session_number _et:engagement_time_msec');
const FLAGS = namesOf(
  'seg:session_engaged _fv:first_visit _ss:session_start _nsi:new_to_site _c:is_conversion _ee:external_event',
  '_dbg:debug_mode',
);

const USER_DATA = 'user_data.';

/** Who sent a hit, and what makes digests that nobody else can. */
interface HitArrival {
  caller: Caller;
  secret: Buffer;
}

export function eventsOfHits(hits: readonly Hit[], arrival: HitArrival): JsonObject[] {
  const names = new Map<string, string>();
  return hits.map((hit) => eventOfHit(hit, arrival, names));
}

/**
 * An event in the form POST /v1/ingest takes it. Its time is that of its arrival, as the wire has none; its name is the
 * event's own, as the names we use are GA4's. What is only about the transport of a hit is left out.
 *
 * @param names Of the ids that hits of the request before it have of their own, the event's name.
 */
function eventOfHit(hit: Hit, arrival: HitArrival, names: Map<string, string>): JsonObject {
  const { fields } = hit;
  const name = fields.get('en');
  const parameters = parametersOf(fields);
  const said = { ...parameters, ...known(fields) };
  const clientId = textOf(fields, 'cid');
  const userId = textOf(fields, 'uid');
  return given({
    event: name,
    uuid: eventId(hit, parameters, arrival, names),
    distinct_id: userId ?? clientId,
    properties: {
      // Google reads the campaign and the click out of the address; gtag says them apart only where a page sets them itself.
      ...pageArrival(fields.get('dl'), consentOf(said).ad_user_data !== false),
      ...said,
      ...given({
        order_id: parameters['order_id'] ?? parameters['transaction_id'],
        $session_id: fields.get('sid'),
        $anon_distinct_id: userId === undefined ? undefined : clientId,
        client_ip_address: arrival.caller === 'server' ? fields.get('_uip') : undefined,
        $lib: GTAG_LIBRARY,
      }),
    },
  });
}

/** What stands under `ep.`, `epn.`, `up.` and `upn.`, the items, and what is said of the person. */
function parametersOf(fields: ReadonlyMap<string, string>): JsonObject {
  const parameters = new Map<string, unknown>();
  const ofUser = new Map<string, unknown>();
  const userData = gatherUserData();
  for (const [key, value] of fields) {
    const at = key.indexOf('.');
    const name = key.slice(at + 1);
    if (at < 0 || name === '') continue;
    const kind = key.slice(0, at);
    if (kind === 'ep' || kind === 'epn') {
      if (name.startsWith(USER_DATA)) userData.add(name.slice(USER_DATA.length), value);
      else parameters.set(name, kind === 'ep' ? value : numberOr(value));
    } else if (kind === 'up' || kind === 'upn') ofUser.set(name, kind === 'up' ? value : numberOr(value));
  }
  userData.addBlob(fields.get('em') ?? '');
  const person = userData.gathered();
  if (ofUser.size > 0) parameters.set('user_properties', Object.fromEntries(ofUser));
  if (person !== null) parameters.set('user_data', person);
  const items = itemsOfHit(fields);
  if (items.length > 0) parameters.set('items', items);
  return Object.fromEntries(parameters);
}

/** A time of engagement that is below zero, as after a device's clock was set back, is none. */
const isBackwards = (key: string, value: string): boolean => key === '_et' && Number(value) < 0;

/** What the keys of the wire say that are not the sender's own. */
function known(fields: ReadonlyMap<string, string>): JsonObject {
  const properties: JsonObject = {};
  for (const [key, value] of fields) {
    if (value.trim() === '') continue;
    const text = TEXTS.get(key);
    const number = NUMBERS.get(key);
    const flag = FLAGS.get(key);
    if (text !== undefined) properties[text] = value;
    else if (number !== undefined && !isBackwards(key, value)) properties[number] = numberOr(value);
    else if (flag !== undefined) properties[flag] = value !== '0';
  }
  // gtag's way to say that the start of the session is a conversion as well.
  if (fields.get('_ss') === '2') properties['is_conversion'] = true;
  const consent = consentOfHit(fields);
  // What the sender itself says under `consent` holds beside it: a refusal in either counts.
  if (Object.keys(consent).length > 0) properties[fields.has('ep.consent') ? '$consent' : 'consent'] = consent;
  return properties;
}

/**
 * The event's id: what its sender calls `event_id`, a purchase's transaction and client, or else a digest of the hit and of
 * its place among the hits of its page. Never a time of the client's. A hit that does not say its page and its place there
 * may be a repetition or not: it gets no id here. Other events than a purchase are not known by their transaction, of which
 * a refund has the same.
 */
function eventId(
  { index, text, fields }: Hit,
  parameters: JsonObject,
  { caller, secret }: HitArrival,
  names: Map<string, string>,
): string | undefined {
  const name = fields.get('en') ?? '';
  const isPurchase = conversionName(name).canonical === 'purchase';
  // gtag sends a number under `epn.`, whatever it is of.
  const transactionId = idText(parameters['transaction_id']);
  const purchase = { transactionId, clientId: fields.get('cid'), caller };
  const own = statedId(idText(parameters['event_id'])) ?? (isPurchase ? purchaseId(purchase, secret) : null);
  if (own !== null) return ownId(own, name, secret, names);
  const [page, number] = [fields.get('_p'), fields.get('_s')];
  if (!saysPlace(page) || !saysPlace(number)) return undefined;
  return digestId(canonicalJson(['ga4', fields.get('tid'), fields.get('cid'), page, number, index, text]), secret);
}

/** Of both parts gtag makes numbers, which may be 0. */
const saysPlace = (part = ''): boolean => /^\d+$/.test(part.trim()) || statedId(part) !== null;

/**
 * Several tags of a container that one trigger fires may have the same id for events of different names. The first keeps
 * it, as a pixel on the page has the same; the others of the request are told apart by their names.
 */
function ownId(id: string, name: string, secret: Buffer, names: Map<string, string>): string {
  const first = names.get(id) ?? name;
  names.set(id, first);
  return first === name ? id : digestId(canonicalJson(['ga4', id, name]), secret);
}

type Choice = 'granted' | 'denied';

/** Google's consent types in the order of `gcd`. */
const TYPES = ['ad_storage', 'analytics_storage', 'ad_user_data', 'ad_personalization'];

/**
 * What a letter of `gcd` says after both the default and the visitor's own choice: granted, or that neither was set. Any other,
 * also one that Google may add, counts as a refusal, as everywhere where consent cannot be read.
 */
const GRANTED = new Set('rtnv');
const UNSET = 'l';
/** A digit and a letter for each type, with digits in front and behind: `11t1t1t1t5`, `13l3l3l2l1`. */
const DEFAULTS = /^\d(?:\d([a-z]))(?:\d([a-z]))(?:\d([a-z]))(?:\d([a-z]))/i;

/**
 * What a hit says of consent beside its `gcs`, which is read where it is delivered: Google's consent types out of `gcd`, and
 * that no service of Google's may have the data where the Digital Markets Act applies (`dma=1`, `dma_cps=-`).
 */
function consentOfHit(fields: ReadonlyMap<string, string>): Record<string, Choice> {
  const consent: Record<string, Choice> = {};
  const [, ...deadLetters] = DEFAULTS.exec(fields.get('gcd') ?? '') ?? [];
  deadLetters.forEach((deadLetter, at) => {
    const said = deadLetter.toLowerCase();
    if (said !== UNSET) consent[TYPES[at] ?? ''] = GRANTED.has(said) ? 'granted' : 'denied';
  });
  if (fields.get('dma') === '1' && fields.get('dma_cps') === '-') consent['ad_user_data'] = 'denied';
  return consent;
}

const BASE64_OF_SHA256 = /^[A-Za-z0-9_+/-]{43}=?$/;
const INDEX = /^\d{1,2}$/;
/** Addresses of one person that are looked at. */
const ADDRESSES_MAX = 4;
const VALUES_MAX = 8;

/** What the blob `em` calls a person's data, and the member it becomes; those of an address have its number behind them. */
const BLOB_FIELDS = namesOf('em:sha256_email_address pn:sha256_phone_number');
const BLOB_ADDRESS_FIELDS = namesOf(
  'fn:sha256_first_name ln:sha256_last_name ct:city rg:region pc:postal_code co:country',
);
const PLAIN_IN_BLOB = new Set(['pc', 'co']);
const PLAIN = /^[A-Za-z0-9 -]{2,12}$/;

/** What a hit says of a person, gathered into the form of GA4's `user_data`. */
function gatherUserData() {
  const values = new Map<string, string[]>();
  const addresses = new Map<number, Map<string, string>>();

  function put(name: string, value: string): void {
    const known = values.get(name) ?? [];
    if (known.length < VALUES_MAX) values.set(name, [...known, value]);
  }
  function putAddress(at: number, name: string, value: string): void {
    const address = addresses.get(at) ?? new Map<string, string>();
    if (addresses.size < ADDRESSES_MAX || addresses.has(at)) addresses.set(at, address.set(name, value));
  }
  function addFromBlob(part: string): void {
    const [, name = '', number = '0', sent = ''] = /^([a-z]{2})(\d?)\.(.+)$/.exec(part) ?? [];
    const value = hashIn(sent) ?? (PLAIN_IN_BLOB.has(name) && PLAIN.test(sent) ? sent : null);
    if (value === null) return;
    const member = BLOB_FIELDS.get(name);
    if (member !== undefined) put(member, value);
    const ofAddress = BLOB_ADDRESS_FIELDS.get(name);
    if (ofAddress !== undefined) putAddress(Number(number), ofAddress, value);
  }

  return {
    /** Takes what stands under `user_data.<path>`, as it was typed. */
    add(path: string, value: string): void {
      const steps = path.split('.', 4);
      const [first = '', ...rest] = steps;
      const names = rest.filter((step) => !INDEX.test(step));
      if (first !== 'address') put([first, ...names].join('_'), value);
      else putAddress(Number(rest.find((step) => INDEX.test(step)) ?? 0), names.join('_'), value);
    },
    /** Takes gtag's blob of hashes, `tv.1~em.<hash>~fn0.<hash>`; what is no hash in it is nobody's to keep. */
    addBlob(blob: string): void {
      const [version, ...parts] = blob.split('~', 64);
      if (version === 'tv.1') parts.forEach(addFromBlob);
    },
    /** Null where nothing was said. */
    gathered(): JsonObject | null {
      const members: [string, unknown][] = [...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]);
      const places = [...addresses.values()].map((address) => Object.fromEntries(address));
      if (places.length > 0) members.push(['address', places]);
      return members.length === 0 ? null : Object.fromEntries(members);
    },
  };
}

/** A SHA-256 in hex, of one written in hex or in base64. */
function hashIn(text: string): string | null {
  const hex = BASE64_OF_SHA256.test(text) ? Buffer.from(text, 'base64').toString('hex') : text;
  return asSha256(hex);
}
