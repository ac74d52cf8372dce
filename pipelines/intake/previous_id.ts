import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { numberId } from '#pipelines/privacy/placeholder_id.ts';
import { readShortText } from './short_text.ts';

/** The property that has the visitor's other id: PostHog's words. GA4's hits say theirs with events of any name. */
const PROPERTY = '$anon_distinct_id';
const PROPERTY_OF: ReadonlyMap<string, string> = new Map([
  ['$create_alias', 'alias'],
  ['$merge_dangerously', 'alias'],
]);

/** The other id of the visitor as it was sent; null where the event names none. */
export function readPreviousId(name: string, properties: JsonObject): string | null {
  const property = PROPERTY_OF.get(name) ?? PROPERTY;
  const sent = Object.hasOwn(properties, property) ? properties[property] : null;
  return readShortText(typeof sent === 'number' && Number.isFinite(sent) ? numberId(sent) : sent);
}

/** Whether the other id of an event of this name is one that its browser had before, rather than somebody else's. */
export function isBrowsersOwn(name: string): boolean {
  return !PROPERTY_OF.has(name);
}
