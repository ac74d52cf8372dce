import { canonicalJson } from '#pipelines/intake/canonical_json.ts';
import { given } from '#pipelines/intake/compat/foreign.ts';
import { digestId } from '#pipelines/intake/event_id.ts';
import type { Hit } from '#pipelines/intake/ga4/hits.ts';
import { numberOr } from '#pipelines/intake/ga4/wire_number.ts';
import { pageArrival } from '#pipelines/intake/page_arrival.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { PixelArrival } from './pixel_arrival.ts';
import { pixelEventId } from './pixel_event_id.ts';

/** What says of an event that Meta's pixel sent it: the value of its property `$lib`. */
export const META_LIBRARY = 'meta_pixel';

/** Custom data and what is said of the person, `ud` by the page and `udff` out of its forms. */
const IN_BRACKETS = /^(cd|ud|udff)\[([^[\]]{1,200})\]$/;
const NUMBERS: ReadonlySet<string> = new Set(['value', 'num_items', 'predicted_ltv']);
const LISTS: ReadonlySet<string> = new Set(['contents', 'content_ids']);

/**
 * An event of a hit to Meta's `/tr` (FACTS section 6), in the form POST /v1/ingest takes it. Its id is the `eventID`
 * that the page gave if that is a UUID, so that it is one event with what the page sent elsewhere, else as pixelEventId says; its
 * time is that of its arrival. What is said of the
 * person is cleaned and hashed where all events are.
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

/** The pixel that a hit is for. */
export function metaPixelOf({ fields }: Hit): string {
  return fields.get('id') ?? '';
}

function textOf(fields: ReadonlyMap<string, string>, key: string): string | undefined {
  const text = fields.get(key);
  return text === undefined || text.trim() === '' ? undefined : text;
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
