import { META_LIBRARY } from '#pipelines/intake/pixels/meta_hit.ts';
import { TIKTOK_LIBRARY } from '#pipelines/intake/pixels/tiktok_hit.ts';
import { readShortText } from '#pipelines/intake/short_text.ts';
import { REDACTED } from '#pipelines/privacy/redacted.ts';
import type { Event } from '#schemas/event.ts';
import type { Properties } from './properties.ts';

const PIXEL_LIBRARIES: ReadonlySet<unknown> = new Set([META_LIBRARY, TIKTOK_LIBRARY]);

/**
 * The id by which an ad platform tells that an event is one with what its own pixel on the page sent: the event's id, or
 * of a pixel's hit the id that the page gave to the pixel. One that held personal data was removed from the event.
 */
export function dedupId(event: Event, properties: Properties): string {
  const sent = PIXEL_LIBRARIES.has(properties['$lib']) ? readShortText(properties['$event_id']) : null;
  return sent === null || sent.includes(REDACTED) ? event.event_id : sent;
}
