// How an event says that its visitor came: by the campaign in the page's address or the properties, by a click on an ad, or from
// another site; and the channel of that, by the rules of GA4's default channel group. What is told of a visit by it
// and by its other events.
import { type SourceKind, sourceOfHost, sourceOfWord } from './known_sources.ts';

/** In the order in which their rules are tried; the last one is for what none of them takes. */
const CHANNELS = [
  'Direct',
  'Cross-network',
  'Paid Shopping',
  'Paid Search',
  'Paid Social',
  'Paid Video',
  'Display',
  'Paid Other',
  'Organic Shopping',
  'Organic Social',
  'Organic Video',
  'Organic Search',
  'AI Assistant',
  'Email',
  'Affiliates',
  'Referral',
  'Audio',
  'SMS',
  'Mobile Push Notifications',
  'Unassigned',
] as const;
export type Channel = (typeof CHANNELS)[number];

/** How a visit came, in small letters; empty texts are not known. */
export interface Traffic {
  source: string;
  medium: string;
  campaign: string;
}

interface Facts extends Traffic {
  kind: SourceKind | null;
  isPaid: boolean;
}

const PAID = /^(?:.*cp.*|ppc|retargeting|paid.*)$/;
const SHOPPING_CAMPAIGN = /^(?:.*(?:[^a-df-z]|^)shop|.*shopping)/;
const SOCIAL = new Set(['social', 'social-network', 'social-media', 'sm', 'social network', 'social media']);
const DISPLAY = new Set(['display', 'banner', 'expandable', 'interstitial', 'cpm']);
const MAIL = new Set(['email', 'e-mail', 'e_mail', 'e mail']);

const isShopping = ({ kind, campaign }: Facts): boolean => kind === 'shopping' || SHOPPING_CAMPAIGN.test(campaign);

const RULES: Readonly<Record<Exclude<Channel, 'Unassigned'>, (of: Facts) => boolean>> = {
  Direct: ({ source, medium, campaign }) =>
    (source === '' || source === '(direct)') && ['', '(none)', '(not set)'].includes(medium) && campaign === '',
  'Cross-network': ({ campaign }) => campaign.includes('cross-network'),
  'Paid Shopping': (of) => of.isPaid && isShopping(of),
  'Paid Search': ({ isPaid, kind }) => isPaid && kind === 'search',
  'Paid Social': ({ isPaid, kind }) => isPaid && kind === 'social',
  'Paid Video': ({ isPaid, kind }) => isPaid && kind === 'video',
  Display: ({ medium }) => DISPLAY.has(medium),
  'Paid Other': ({ isPaid }) => isPaid,
  'Organic Shopping': isShopping,
  'Organic Social': ({ kind, medium }) => kind === 'social' || SOCIAL.has(medium),
  'Organic Video': ({ kind, medium }) => kind === 'video' || medium.includes('video'),
  'Organic Search': ({ kind, medium }) => kind === 'search' || medium === 'organic',
  'AI Assistant': ({ kind, medium }) => kind === 'ai' || medium === 'ai-assistant',
  Email: ({ kind, source, medium }) => kind === 'mail' || MAIL.has(source) || MAIL.has(medium),
  Affiliates: ({ medium }) => medium === 'affiliate' || medium === 'affiliates',
  Referral: ({ medium }) => medium === 'referral' || medium === 'app' || medium === 'link',
  Audio: ({ medium }) => medium === 'audio',
  SMS: ({ source, medium }) => source === 'sms' || medium === 'sms',
  'Mobile Push Notifications': ({ source, medium }) =>
    medium.endsWith('push') || medium.includes('mobile') || medium.includes('notification') || source === 'firebase',
};

/**
 * The channel of a visit: the first whose rule takes it. Beside GA4's own sources there are mail and assistants, which GA4 has by
 * their medium or not at all; a medium that says `cpm` of a known network is paid by GA4's rule and so not Display.
 */
export function channelOf(traffic: Traffic): Channel {
  const { source, medium } = traffic;
  const kind = sourceOfWord(source)?.kind ?? null;
  const facts: Facts = { ...traffic, kind, isPaid: PAID.test(medium) };
  return CHANNELS.find((channel) => channel !== 'Unassigned' && RULES[channel](facts)) ?? 'Unassigned';
}

/** What of an event tells how its visitor came. Texts are as sent, empty where not said. */
export interface ArrivalFacts {
  /** The address of its page, and of the page before. */
  page: string;
  referrer: string;
  utm: { source: string; medium: string; campaign: string };
  /** Further domains of the site. */
  domains: readonly string[];
}

/** Parts of an arrival as its text has them, behind the sign of what told it. */
export const ARRIVAL_PARTS = ['channel', 'source', 'medium', 'campaign', 'referrer'] as const;
export type ArrivalPart = (typeof ARRIVAL_PARTS)[number];

/** Begins the text of an arrival that a campaign or a click on an ad told; else it was another site. */
export const BY_CAMPAIGN = 'c';
const BY_REFERRER = 'r';
/** Between the parts; what is sent loses it. */
const SEPARATOR = '\n';

/** What the ids of clicks on ads tell. Meta and Pinterest add theirs to links that nobody paid for, too. */
const CLICKS: Readonly<Record<string, { source: string; medium: string }>> = {
  gclid: { source: 'google', medium: 'cpc' },
  gbraid: { source: 'google', medium: 'cpc' },
  wbraid: { source: 'google', medium: 'cpc' },
  dclid: { source: 'google', medium: 'cpm' },
  msclkid: { source: 'bing', medium: 'cpc' },
  ttclid: { source: 'tiktok', medium: 'cpc' },
  twclid: { source: 'x', medium: 'cpc' },
  li_fat_id: { source: 'linkedin', medium: 'cpc' },
  rdt_cid: { source: 'reddit', medium: 'cpc' },
  sccid: { source: 'snapchat', medium: 'cpc' },
  yclid: { source: 'yandex', medium: 'cpc' },
  fbclid: { source: 'facebook', medium: '' },
  epik: { source: 'pinterest', medium: '' },
};
/** Parameters of an address that tell how somebody came. */
export const TELLING: readonly string[] = ['utm_source', 'utm_medium', 'utm_campaign', ...Object.keys(CLICKS)];
const TELLS = new RegExp(`[?&](?:${TELLING.join('|')})=`, 'i');

/** Whether an address, or its query alone, has a parameter that tells how somebody came. */
export const tellsArrival = (address: string): boolean => TELLS.test(address);

const TEXT_CHARACTERS_MAX = 200;

/** In small letters, so that `Newsletter` and `newsletter` are one; of more than is kept the beginning. */
const said = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, TEXT_CHARACTERS_MAX)
    .toLowerCase();

/**
 * The arrival as one text: the sign of what told it, then its parts; empty where the event says none, as on the pages of a visit
 * behind the first. Of what links say several times the properties count, which libraries keep for the visit, then the address.
 */
export function arrivalOf({ page, referrer, utm, domains }: ArrivalFacts): string {
  const told = parametersOf(page);
  const word = (name: 'source' | 'medium' | 'campaign'): string =>
    said(utm[name]) || said(told.get(`utm_${name}`) ?? '');
  const [from, sentMedium, campaign] = [word('source'), word('medium'), word('campaign')];
  const click = Object.keys(CLICKS).find((name) => told.get(name) !== undefined);
  const host = otherHost(referrer, page, domains);
  const known = host === '' ? null : sourceOfHost(host);
  const cameFrom = known?.kind === 'passing' ? '' : host;
  if (from === '' && sentMedium === '' && campaign === '' && click === undefined) {
    if (cameFrom === '') return '';
    const source = known?.name ?? cameFrom;
    return textOf(
      BY_REFERRER,
      { source, medium: known?.kind === 'search' ? 'organic' : 'referral', campaign },
      cameFrom,
    );
  }
  const clicked = CLICKS[click ?? ''];
  const medium = sentMedium || clicked?.medium || '';
  const source = nameOf(from) || clicked?.source || (cameFrom === '' ? '' : (known?.name ?? cameFrom));
  // A click on a link that nobody paid for is what the network's own site as referrer would be.
  return textOf(
    BY_CAMPAIGN,
    { source, medium: medium || (clicked === undefined ? '' : 'referral'), campaign },
    cameFrom,
  );
}

function textOf(sign: string, traffic: Parameters<typeof channelOf>[0], referrer: string): string {
  const { source, medium, campaign } = traffic;
  return [sign, channelOf(traffic), source, medium, campaign, referrer].join(SEPARATOR);
}

/** One name for what links call by many: `fb` and `facebook.com` are `facebook`. */
const nameOf = (source: string): string => sourceOfWord(source)?.name ?? source;

const NOTHING: ReadonlyMap<string, string> = new Map();

/** The parameters of an address that tell something, by their names in small letters; of several of one name the first. */
function parametersOf(page: string): ReadonlyMap<string, string> {
  const [address = ''] = page.split('#', 1);
  if (!tellsArrival(address)) return NOTHING;
  const found = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(address.slice(address.indexOf('?')))) {
    const small = name.toLowerCase();
    if (value.trim() !== '' && !found.has(small)) found.set(small, value);
  }
  return found;
}

const HOST = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?([^/?#:]*)/i;

/** The host of an address, in small letters and without `www.`; empty where there is none. */
const hostOf = (address: string): string =>
  (HOST.exec(address)?.[1] ?? '')
    .toLowerCase()
    .replace(/^www\./, '')
    .replace(/\.$/, '');

/** The host of the page before, where that is none of the site's own. */
function otherHost(referrer: string, page: string, domains: readonly string[]): string {
  const host = hostOf(referrer);
  if (!host.includes('.')) return '';
  const own = hostOf(page);
  if (own !== '' && siteOf(own) === siteOf(host)) return '';
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`)) ? '' : host;
}

/** Second labels under which countries sell names. */
const SECOND = /^(?:com?|org|net|gov|gob|edu|ac|or|ne|go|gv|ltd|plc|me)$/;
/** Domains under which others have sites of theirs. */
const SHARED = new Set(
  'github.io gitlab.io pages.dev workers.dev vercel.app netlify.app herokuapp.com fly.dev onrender.com web.app firebaseapp.com azurewebsites.net myshopify.com blogspot.com wordpress.com wixsite.com webflow.io squarespace.com tumblr.com substack.com medium.com'.split(
    ' ',
  ),
);

/**
 * What a host and its subdomains have in common, as far as names tell: the domain that was bought, one more label where that is
 * sold under two, or given away under one. Of an address in numbers all of it.
 */
export function siteOf(host: string): string {
  if (/^[\d.]+$/.test(host)) return host;
  const labels = host.split('.');
  const two = labels.slice(-2).join('.');
  const isUnderTwo = SHARED.has(two) || (labels.at(-1)?.length === 2 && SECOND.test(labels.at(-2) ?? ''));
  return isUnderTwo ? labels.slice(-3).join('.') : two;
}

/** What of its first event that says something a visit is known by. */
export const ENTRY_COLUMNS = [
  ...(['geo_country', 'geo_region', 'geo_city'] as const),
  ...(['browser', 'os', 'device_type', 'language', 'screen_class'] as const),
] as const;

export const VISIT_VALUES = [...ARRIVAL_PARTS, 'landing_page', 'exit_page', ...ENTRY_COLUMNS] as const;
export type VisitValue = (typeof VISIT_VALUES)[number];

/** Of an event what its visit tells something by: one text for each kind. */
export type VisitKind = 'arrival' | 'page' | 'entry';

export const isOfArrival = (value: VisitValue): value is ArrivalPart =>
  (ARRIVAL_PARTS as readonly string[]).includes(value);

export function kindOf(value: VisitValue): VisitKind {
  if (isOfArrival(value)) return 'arrival';
  return value === 'landing_page' || value === 'exit_page' ? 'page' : 'entry';
}

const OF_MANY: ReadonlySet<VisitValue> = new Set([
  'channel',
  'geo_country',
  'browser',
  'os',
  'device_type',
  'screen_class',
]);

/** Whether some values may be of few persons, as a page with somebody's id in its address is. */
export const hasSmallCounts = (value: VisitValue): boolean => !OF_MANY.has(value);
