// Hits of the browser pixels of Meta and TikTok as events.
import { conversionName } from '#pipelines/events/vocabulary.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { isPlaceholderId } from '#pipelines/privacy/placeholder_ids.ts';
import { given, idText, pageArrival } from './compat/mapped_call.ts';
import { digestId, uuidOrNull } from './event_id.ts';
import { readShortText } from './field_rules.ts';
import { type Hit, numberOr, textOf } from './ga4/hits.ts';
import { canonicalJson, firstGiven, objectOr } from './json_text.ts';

/** What says of an event that Meta's pixel sent it: the value of its property `$lib`. */
export const META_LIBRARY = 'meta_pixel';

/** Custom data and what is said of the person, `ud` by the page and `udff` out of its forms. */
const IN_BRACKETS = /^(cd|ud|udff)\[([^[\]]{1,200})\]$/;
const NUMBERS: ReadonlySet<string> = new Set(['value', 'num_items', 'predicted_ltv']);
const LISTS: ReadonlySet<string> = new Set(['contents', 'content_ids']);

/**
 * An event of a hit to Meta's `/tr`, where its pixel sends queries and forms, in the form POST /v1/ingest takes it. Its id is
 * the `eventID` that the page gave if that is a UUID, so that it is one event with what the page sent elsewhere, else as
 * pixelEventId says; its time is that of its arrival. What is said of the person is cleaned and hashed where all events are.
 */
export function eventOfMetaHit({ text, fields }: Hit, { visitor, secret }: PixelArrival): JsonObject {
  const custom = new Map<string, unknown>();
  const person = new Map<string, unknown>();
  for (const [key, value] of fields) {
    const [, kind, name = ''] = IN_BRACKETS.exec(key) ?? [];
    if (kind === 'cd') custom.set(name, customValue(name, value));
    else if (kind !== undefined && !person.has(name)) person.set(name, value);
  }
  const fbp = textOf(fields, 'fbp');
  const eventId = textOf(fields, 'eid');
  const { uuid, sentId } = pixelEventId(eventId, fields.get('ev'), secret);
  return given({
    event: fields.get('ev'),
    uuid: eventId === undefined ? placeId(text, fields, secret) : uuid,
    distinct_id: visitor ?? fbp,
    properties: given({
      ...pageArrival(fields.get('dl')),
      ...Object.fromEntries(custom),
      $event_id: sentId,
      page_location: textOf(fields, 'dl'),
      page_referrer: textOf(fields, 'rl'),
      fbp,
      fbc: textOf(fields, 'fbc'),
      // Limited data use, as `fbq('dataProcessingOptions', …)` has the pixel say it.
      data_processing_options: textOf(fields, 'dpo'),
      data_processing_options_country: textOf(fields, 'dpoco'),
      data_processing_options_state: textOf(fields, 'dpost'),
      user_data: person.size === 0 ? undefined : Object.fromEntries(person),
      $lib: META_LIBRARY,
    }),
  });
}

export function metaPixelOf({ fields }: Hit): string {
  return fields.get('id') ?? '';
}

function customValue(name: string, value: string): unknown {
  if (NUMBERS.has(name)) return numberOr(value);
  return LISTS.has(name) ? listOr(value) : value;
}

/** The pixel writes lists as JSON. */
function listOr(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : text;
  } catch {
    // A single id stands as it is.
    return text;
  }
}

/** A hit that says its page (`it`, when the pixel began there) and its place there (`ec`) is the same when it comes again. */
function placeId(text: string, fields: ReadonlyMap<string, string>, secret: Buffer): string | undefined {
  const [page, place] = [fields.get('it'), fields.get('ec')];
  if (page === undefined || place === undefined) return undefined;
  return digestId(canonicalJson(['meta', fields.get('id'), fields.get('fbp'), page, place, text]), secret);
}

/** What says of an event that TikTok's pixel sent it: the value of its property `$lib`. */
export const TIKTOK_LIBRARY = 'tiktok_pixel';

/**
 * An event of a hit of TikTok's pixel, a JSON object with `context` and `properties`, in the form POST /v1/ingest takes it. Its
 * id is that of the `event_id` that the page gave, else the pixel's own for the message; its time is that of its arrival.
 */
export function eventOfTiktokHit(body: JsonObject, { visitor, secret }: PixelArrival): JsonObject {
  const context = objectOr(body['context']);
  const [page, user, ad] = [objectOr(context['page']), objectOr(context['user']), objectOr(context['ad'])];
  const { anonymous_id: anonymousId, ...person } = user;
  const { uuid, sentId } = pixelEventId(idText(body['event_id']), body['event'], secret);
  return given({
    event: body['event'],
    uuid: firstGiven(uuid, idText(body['message_id'])),
    distinct_id: firstGiven(visitor, idText(anonymousId)),
    properties: given({
      ...pageArrival(page['url']),
      ...objectOr(body['properties']),
      $event_id: sentId,
      page_location: page['url'],
      page_referrer: page['referrer'],
      ...given({ ttclid: ad['callback'] }),
      ttp: anonymousId,
      user_data: Object.keys(person).length === 0 ? undefined : person,
      $session_id: context['session_id'],
      $lib: TIKTOK_LIBRARY,
    }),
  });
}

export function tiktokPixelOf(body: JsonObject): unknown {
  return objectOr(objectOr(body['context'])['pixel'])['code'];
}

/** The id of a pixel's hit, and the one that its page gave where that is another. */
interface PixelEventId {
  uuid?: unknown;
  sentId?: string;
}

/**
 * Platforms take two hits for one by the id and the name of their events, and pages give the views and the purchase of one
 * page the same id. So an id that is no UUID becomes one with the name, in whose place each platform's own name for the
 * same act counts. A UUID is an event's own, as our tag makes them. What is no id at all stays, to be judged where ids are;
 * a placeholder is none.
 */
function pixelEventId(sent: unknown, name: unknown, secret: Buffer): PixelEventId {
  const id = readShortText(sent);
  if (id !== null && isPlaceholderId(id)) return {};
  if (id === null || uuidOrNull(id) !== null) return { uuid: sent };
  const act = typeof name === 'string' ? (conversionName(name).canonical ?? name) : '';
  return { uuid: digestId(canonicalJson(['pixel', id, act]), secret), sentId: id };
}

/** What of a pixel's hit is not in it. */
interface PixelArrival {
  /** The visitor's own id of our cookie; null where the site keeps none, or the browser sent none. */
  visitor: string | null;
  /** Makes digests that nobody else can, for hits that have no id. */
  secret: Buffer;
}
