import { firstGiven, given, idText, objectOr } from '#pipelines/intake/compat/foreign.ts';
import { pageArrival } from '#pipelines/intake/page_arrival.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { PixelArrival } from './pixel_arrival.ts';
import { pixelEventId } from './pixel_event_id.ts';

/** What says of an event that TikTok's pixel sent it: the value of its property `$lib`. */
export const TIKTOK_LIBRARY = 'tiktok_pixel';

/**
 * An event of a hit of TikTok's pixel (FACTS section 6), in the form POST /v1/ingest takes it. Its id is that of the `event_id`
 * that the page gave, else the pixel's own for the message; its time is that of its arrival.
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

/** The pixel that a hit is for. */
export function tiktokPixelOf(body: JsonObject): unknown {
  return objectOr(objectOr(body['context'])['pixel'])['code'];
}
