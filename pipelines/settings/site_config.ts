import { hash } from 'node:crypto';
import { chosenNames } from '#pipelines/delivery/setting_fields.ts';
import { siteEngage } from '#pipelines/engage/site_engage.ts';
import type { SiteMode } from '#schemas/event.ts';
import type { Destination, Site } from '#schemas/setting.ts';
import { type RoutePixel, readRoutePixels } from './destination_settings.ts';
import { definitionsOf, type EventDefinition } from './event_definitions.ts';
import type { SettingsTable } from './table.ts';

/** The public configuration of a site. */
export interface SiteConfig {
  mode: SiteMode;
  business_category: string;
  clarity: { project_id: string } | null;
  facebook: { pixel_id: string; route_pixels: RoutePixel[] } | null;
  tiktok: { pixel_code: string } | null;
  ga4: { measurement_id: string } | null;
  gtm: { container_id: string } | null;
  custom_loader: boolean;
  events: EventDefinition[];
  /** How the tag behaves. */
  tag: TagConfig;
}

/** The ids by which a site's pages load the platforms' scripts. */
export type VendorIds = Pick<SiteConfig, 'facebook' | 'tiktok' | 'ga4' | 'gtm'>;

interface TagConfig {
  /** The tag's further scripts that the site has work for from the start: `vendors` is svc-vendors.min.js. */
  parts: string[];
  /** Whether the site has surveys, promos or forms that are enabled: else their script is not loaded at all. */
  engage: boolean;
  web_vitals: boolean;
  consent: { required: boolean; queue: boolean };
  respect_dnt: boolean;
  respect_gpc: boolean;
  inventory: boolean;
  /** Whether another route in the fragment is another page. */
  hash_routes: boolean;
  /** Where vendors' scripts come from on a claimed domain: its origin, and the path before their names. */
  loader: { base: string; prefix: string } | null;
  /**
   * By the destinations that have a pixel on the page: the names that the site chose for its events, by the event's name in
   * lower case without separators. Pixel and service have to say the same, as platforms deduplicate by name and id.
   */
  event_names: Record<string, Record<string, string>>;
}

/** The body of GET /v1/config, serialised, and its ETag with the quotes it is sent in. */
export interface ConfigAnswer {
  body: string;
  etag: string;
}

/**
 * Answers GET /v1/config for a site id; undefined for an unknown site. An answer is made once per state of the table.
 */
export function createConfigAnswers(table: SettingsTable): (siteId: string) => ConfigAnswer | undefined {
  const answers = new Map<string, ConfigAnswer>();
  let version = table.version;
  return (siteId) => {
    if (version !== table.version) answers.clear();
    version = table.version;
    const known = answers.get(siteId);
    if (known !== undefined) return known;
    const config = siteConfig(table, siteId);
    if (config === undefined) return undefined;
    const answer = configAnswer(config);
    answers.set(siteId, answer);
    return answer;
  };
}

/** Serialises a configuration. Equal configurations have equal ETags, in every process. */
function configAnswer(config: SiteConfig): ConfigAnswer {
  const body = JSON.stringify(config);
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 27)}"` };
}

/**
 * The public configuration of a site; undefined for an unknown site. Every field is picked by name, so that a secret
 * cannot slip through. Of destinations that are switched off nothing is shown. A stored event definition that cannot be
 * read is left out: definitions are checked when they are written, and the rest of the tag must go on.
 */
export function siteConfig(table: SettingsTable, siteId: string): SiteConfig | undefined {
  const site = table.site(siteId);
  if (site === undefined) return undefined;
  const loader = loaderOf(site, table);
  const vendors = vendorIds(table, site);
  const config: Omit<SiteConfig, 'tag'> = {
    mode: site.mode,
    business_category: site.business_category,
    clarity: site.clarity_project_id === null ? null : { project_id: site.clarity_project_id },
    ...vendors,
    custom_loader: loader !== null,
    events: definitionsOf(site),
  };
  const tag = tagConfig(site, loader, siteEngage(table.engageItems(siteId)).items.length > 0);
  return {
    ...config,
    tag: { parts: tagParts(config, tag), ...tag, event_names: eventNames(table, siteId, vendors) },
  };
}

/**
 * The tag's further scripts that a site has work for from the start. That for platforms also renews the visitor's cookie on
 * a domain of the site's own.
 */
export function tagParts(
  { mode, facebook, tiktok, ga4, gtm, clarity, events }: Omit<SiteConfig, 'tag'>,
  { loader, engage, web_vitals, hash_routes }: Pick<TagConfig, 'loader' | 'engage' | 'web_vitals' | 'hash_routes'>,
): string[] {
  const isNeeded = {
    vendors: mode === 'online' && [facebook, tiktok, ga4, gtm, clarity, loader].some((one) => one !== null),
    definitions: events.length > 0,
    engage,
    vitals: web_vitals,
    routes: hash_routes,
    offline: mode === 'offline',
  };
  return Object.entries(isNeeded).flatMap(([name, is]) => (is ? [name] : []));
}

/** Of the destinations that are switched on, and that the browser speaks to. */
export function vendorIds(table: SettingsTable, { site_id, gtm_container_id }: Site): VendorIds {
  return {
    facebook: facebook(enabled(table, site_id, 'meta')),
    tiktok: tiktok(enabled(table, site_id, 'tiktok')),
    ga4: ga4(enabled(table, site_id, 'ga4')),
    gtm: gtm_container_id === null ? null : { container_id: gtm_container_id },
  };
}

/** Every pixel of Meta's that a site has: its own and those of its routes. */
export function metaPixels({ facebook }: Pick<VendorIds, 'facebook'>): string[] {
  return facebook === null ? [] : [facebook.pixel_id, ...facebook.route_pixels.map(({ pixel_id }) => pixel_id)];
}

function eventNames(table: SettingsTable, siteId: string, pixels: VendorIds): TagConfig['event_names'] {
  const onPage = Object.entries({ meta: pixels.facebook, tiktok: pixels.tiktok, ga4: pixels.ga4 });
  const chosen = onPage.flatMap(([name, pixel]): [string, Record<string, string>][] => {
    const names = pixel === null ? null : chosenNames(table.destination(siteId, name)?.settings ?? {});
    return names === null || names.size === 0 ? [] : [[name, Object.fromEntries(names)]];
  });
  return Object.fromEntries(chosen);
}

function tagConfig(
  { tag, pages }: Site,
  loader: TagConfig['loader'],
  engage: boolean,
): Omit<TagConfig, 'event_names' | 'parts'> {
  return {
    engage,
    web_vitals: tag.web_vitals,
    consent: { required: tag.consent_required, queue: tag.consent_queue },
    respect_dnt: tag.respect_dnt,
    respect_gpc: tag.respect_gpc,
    inventory: tag.inventory,
    hash_routes: pages?.hash_routes ?? false,
    loader,
  };
}

/** The first domain that is verified as this site's. */
function loaderOf(site: Site, table: SettingsTable): TagConfig['loader'] {
  const domain = site.domains.find((name) => table.siteServedAt(name) === site);
  if (domain === undefined) return null;
  return { base: `https://${domain}`, prefix: site.loader_prefix === null ? '' : `/${site.loader_prefix}` };
}

function enabled(table: SettingsTable, siteId: string, name: string): Destination | undefined {
  const destination = table.destination(siteId, name);
  return destination?.enabled ? destination : undefined;
}

function facebook(meta: Destination | undefined): SiteConfig['facebook'] {
  const pixelId = meta?.settings['pixel_id'];
  if (!pixelId) return null;
  return { pixel_id: pixelId, route_pixels: readRoutePixels(meta.settings['route_pixels'] ?? '') ?? [] };
}

function tiktok(destination: Destination | undefined): SiteConfig['tiktok'] {
  const pixelCode = destination?.settings['pixel_code'];
  return pixelCode ? { pixel_code: pixelCode } : null;
}

/** GA4 does not deduplicate, so it is reached from the browser or from here, never both; from here unless told. */
function ga4(destination: Destination | undefined): SiteConfig['ga4'] {
  const measurementId = destination?.settings['measurement_id'];
  if (!measurementId || destination.settings['route'] !== 'browser') return null;
  return { measurement_id: measurementId };
}
