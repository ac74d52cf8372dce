// Where a visitor is and with what: from the record of an address, from a user agent, and from what a browser says of itself.
import { UAParser } from 'ua-parser-js';
import { type Site, VISITOR_PLACES } from '#schemas/setting.ts';

/** Where an address is, as far as its record says; texts are empty where it does not. */
export interface Place {
  /** Two capital letters. */
  country: string;
  region: string;
  city: string;
}

/** What a site says of its visitors: what it wants kept of where they are, and which domains are its own. */
export interface KeptPlaces {
  places: (typeof VISITOR_PLACES)[number];
  isCut: boolean;
  /** The site's further domains: who comes from there comes from nowhere else. */
  domains: readonly string[];
}

/** Of a site that says nothing. */
export const ALL_KEPT: KeptPlaces = { places: 'city', isCut: false, domains: [] };

/** The same of a site as its settings have it; one that is not known says nothing. */
export function keptPlaces(
  site: (Pick<Site, 'visitor_places' | 'visitor_addresses'> & Partial<Pick<Site, 'domains'>>) | undefined,
): KeptPlaces {
  const { domains = ALL_KEPT.domains } = site ?? {};
  if (site === undefined || (!site.visitor_places && !site.visitor_addresses && domains.length === 0)) return ALL_KEPT;
  const places = VISITOR_PLACES.find((one) => one === site.visitor_places) ?? ALL_KEPT.places;
  return { places, isCut: site.visitor_addresses === 'cut', domains };
}

export interface Device {
  browser: string;
  browser_version: string;
  os: string;
  os_version: string;
  device_type: string;
}

const NAME_CHARACTERS_MAX = 100;
/** Without those that stand for no country. */
const COUNTRY = /^(?!ZZ|XX|T1)[A-Z]{2}$/;
/** DB-IP names the part of a town behind it. */
const PART_OF_TOWN = / \([^)]*\)$/;

/**
 * The place in a record of a database: of MaxMind's and DB-IP's own (names in English), of DB-IP's and others as npm has them, and of
 * IPinfo's. Where a network is registered says nothing of who uses it, so a country that stands as that alone is none.
 */
export function placeIn(record: unknown): Place | null {
  if (!isObject(record)) return null;
  const { country, country_code: code, subdivisions, state1, region, city } = record;
  const iso = isObject(country) ? country['iso_code'] : (code ?? country);
  if (typeof iso !== 'string' || !COUNTRY.test(iso)) return null;
  const first: unknown = Array.isArray(subdivisions) ? subdivisions[0] : (state1 ?? region);
  return { country: iso, region: nameOf(first), city: nameOf(city).replace(PART_OF_TOWN, '') };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function nameOf(value: unknown): string {
  const name = isObject(value) && isObject(value['names']) ? value['names']['en'] : value;
  return typeof name === 'string' ? name.slice(0, NAME_CHARACTERS_MAX) : '';
}

/** What people call them, where the library says which edition it is. */
const BROWSERS: Readonly<Record<string, string>> = {
  'Mobile Safari': 'Safari',
  'Mobile Chrome': 'Chrome',
  'Mobile Firefox': 'Firefox',
  'Chrome WebView': 'Chrome',
  'Chrome Headless': 'Chrome',
  'Opera Mobi': 'Opera',
  'Opera Tablet': 'Opera',
  'Opera Touch': 'Opera',
  GSA: 'Google app',
  IE: 'Internet Explorer',
  IEMobile: 'Internet Explorer',
  UCBrowser: 'UC Browser',
};
const SYSTEMS: Readonly<Record<string, string>> = { 'Mac OS': 'macOS', 'Chromium OS': 'ChromeOS' };
const TIKTOK = /musical_ly|trill_|BytedanceWebview/;

/** With one place behind the point, as that of Safari and of iOS counts; Windows has names too. */
const VERSION = /^(?:\d{1,5}(?:\.\d{1,3})?(?![\d])|XP|Vista|ME|2000)/;
const shortVersion = (version = ''): string => VERSION.exec(version)?.[0].replace(/\.0+$/, '') ?? '';

/**
 * The device of a user agent; a text is empty where it does not tell. A browser inside of an app is called as the app. Systems of
 * tablets that ask for pages of computers, as iPads do, cannot be told by it but where an app has left `Mobile` behind Macintosh.
 */
export function deviceOf(userAgent: string): Device {
  const { browser, os, device } = UAParser(userAgent);
  const browserName = TIKTOK.test(userAgent) ? 'TikTok' : (browser.name ?? '');
  const named: Device = {
    browser: BROWSERS[browserName] ?? browserName,
    browser_version: browserName === browser.name ? shortVersion(browser.version) : '',
    os: SYSTEMS[os.name ?? ''] ?? os.name ?? '',
    os_version: shortVersion(os.version),
    device_type: device.type === 'smarttv' ? 'tv' : (device.type ?? (os.name === undefined ? '' : 'desktop')),
  };
  const isMobile = /\bMobile\b/.test(userAgent);
  if (named.os === 'macOS' && isMobile) return asIpad(named);
  // A reduced user agent has no model; of those the word alone tells telephones from tablets.
  const isReduced = device.model === undefined || device.model === 'K';
  return named.device_type === 'tablet' && isMobile && isReduced && named.os === 'Android'
    ? { ...named, device_type: 'mobile' }
    : named;
}

const asIpad = (device: Device): Device => ({ ...device, os: 'iOS', os_version: '', device_type: 'tablet' });

/** The same where the page's script says that it is a tablet, as it can see of an iPad that poses as a computer. */
export function withHint(device: Device, saidType: string): Device {
  return device.os === 'macOS' && saidType.toLowerCase() === 'tablet' ? asIpad(device) : device;
}

const LANGUAGE = /^([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_]([a-z]{2}|\d{3}))?(?=$|[-_.,;@])/i;

/** A language as `nl` or `nl-BE`; empty for what is none. */
export function languageOf(text: string): string {
  const [, language, region] = LANGUAGE.exec(text) ?? [];
  if (language === undefined) return '';
  return region === undefined ? language.toLowerCase() : `${language.toLowerCase()}-${region.toUpperCase()}`;
}

/** Widths in CSS pixels below which a screen is of a class, as the column's comment says. */
const SCREENS = [
  [576, 'small'],
  [992, 'medium'],
  [1440, 'large'],
  [100_000, 'very large'],
] as const;

/** The class of a screen by its width, which may stand before its height as in `1920x1080`; empty for what is none. */
export function screenClassOf(text: string): string {
  const width = Number(/^\d{1,6}(?=$|\.|x\d)/.exec(text)?.[0] ?? 0);
  return width === 0 ? '' : (SCREENS.find(([below]) => width < below)?.[1] ?? '');
}
