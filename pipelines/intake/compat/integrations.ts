import { stated } from '#pipelines/delivery/stated.ts';
import { isObject } from './foreign.ts';

/** Which destinations a call may go to, by our names, and `all` for those that it does not name. */
export type DestinationFlags = Readonly<Record<string, boolean>>;

/**
 * What Segment and RudderStack call the destinations that we have, as words of their names without case and separators. A name
 * stands for the platform, whichever of its products it is (`Facebook Pixel`, `Facebook Conversions API (Actions)`): who keeps
 * an event from one of them does not expect it at the other.
 */
const PLATFORMS: readonly (readonly [RegExp, string])[] = [
  [/^all$/, 'all'],
  [/facebook|^meta(?:$|ads|pixel|capi|conversion)|^fb(?:pixel|capi)/, 'meta'],
  [/tiktok/, 'tiktok'],
  [/googleanalytics|^ga4/, 'ga4'],
  [/^google(?:$|ads|adwords|enhanced|datamanager)|adwords/, 'google'],
  [/linkedin/, 'linkedin'],
  [/pinterest/, 'pinterest'],
  [/reddit/, 'reddit'],
  [/^snap(?:$|chat|ads|pixel|conversion)/, 'snapchat'],
  [/posthog/, 'posthog'],
  [/^webhooks?/, 'webhook'],
];
const NAMES_MAX = 200;
const NAME_CHARACTERS_MAX = 100;

/**
 * What the object `integrations` of a call says of our destinations: `false` keeps it from one, anything else, such as options,
 * lets it go there. Of several names of one platform a no holds.
 */
export function destinationFlags(integrations: unknown): DestinationFlags {
  const flags: Record<string, boolean> = {};
  if (!isObject(integrations)) return flags;
  for (const [name, value] of Object.entries(integrations).slice(0, NAMES_MAX)) {
    const folded = name
      .slice(0, NAME_CHARACTERS_MAX)
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '');
    const said = stated(value);
    const destination = PLATFORMS.find(([words]) => words.test(folded))?.[1];
    if (destination !== undefined && said !== 'absent')
      flags[destination] = said !== 'no' && flags[destination] !== false;
  }
  return flags;
}
