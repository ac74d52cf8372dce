import { matchesAddress, type PageAddress } from '#pipelines/settings/url_pattern.ts';
import type { EventDefinition, SiteConfig } from './types.ts';
import { folded } from './vendor_names.ts';

/** The pixel of the first pattern that the page matches, else the site's own; as the service chooses it. */
export const pixelOf = ({ pixel_id, route_pixels }: NonNullable<SiteConfig['facebook']>, page: PageAddress): string =>
  route_pixels.find((route) => matchesAddress(route.url_pattern, page))?.pixel_id ?? pixel_id;

/** What definitions say of an event's name. */
export interface NameRule {
  /** The conversion that it stands for, else the name itself. */
  name: string;
  isSent(destination: string): boolean;
}

/** The platform's name that the site chose for an event, of whose names the most particular goes first; as in the service. */
export const chosenName = (
  chosen: Record<string, string> = {},
  names: readonly (string | undefined)[],
): string | undefined =>
  // An event may be called as what every object has: `constructor` is no text.
  names.map((name) => chosen[folded(name ?? '')]).find((one) => typeof one === 'string');

/** As in the service, a destination that is absent is sent to, and of several definitions one that sends is enough. */
export function nameRule(events: readonly EventDefinition[], name: string): NameRule {
  const same = events.filter((one) => one.enabled && one.name.trim() === name);
  return {
    name: same.map((one) => one.conversion_event.trim()).find(Boolean) ?? name,
    isSent: (destination) => !same[0] || same.some((one) => one.destinations[destination] !== false),
  };
}
