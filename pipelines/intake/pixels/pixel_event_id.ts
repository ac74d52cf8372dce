import { conversionName } from '#pipelines/delivery/conversion_names.ts';
import { canonicalJson } from '#pipelines/intake/canonical_json.ts';
import { digestId, uuidOrNull } from '#pipelines/intake/event_id.ts';
import { readShortText } from '#pipelines/intake/short_text.ts';
import { isPlaceholderId } from '#pipelines/privacy/placeholder_id.ts';

/** The id of a pixel's hit, and the one that its page gave where that is another. */
export interface PixelEventId {
  uuid?: unknown;
  sentId?: string;
}

/**
 * Platforms take two hits for one by the id and the name of their events, and pages give the views and the purchase of one
 * page the same id. So an id that is no UUID becomes one with the name, in whose place each platform's own name for the
 * same act counts. A UUID is an event's own, as our tag makes them. What is no id at all stays, to be judged where ids are; a placeholder is none.
 */
export function pixelEventId(sent: unknown, name: unknown, secret: Buffer): PixelEventId {
  const id = readShortText(sent);
  if (id !== null && isPlaceholderId(id)) return {};
  if (id === null || uuidOrNull(id) !== null) return { uuid: sent };
  const act = typeof name === 'string' ? (conversionName(name).canonical ?? name) : '';
  return { uuid: digestId(canonicalJson(['pixel', id, act]), secret), sentId: id };
}
