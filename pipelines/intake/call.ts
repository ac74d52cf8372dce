// What the events of a request share, and who an event is of.

import { createIsbotFromList, isbot, list } from 'isbot';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { cleanUserAgent, type Found, recipientsKinds } from '#pipelines/privacy/collect_identifiers.ts';
import {
  anonymousId,
  copyIdentifier,
  customerAnonymousId,
  noIdentifiers,
  pseudonym,
  putIdentifier,
  readPhone,
} from '#pipelines/privacy/hash_identifiers.ts';
import { normaliseIp } from '#pipelines/privacy/ip_addresses.ts';
import {
  createWorkBudget,
  detached,
  EVERYTHING,
  idWorkBudget,
  normaliseEmail,
  percentDecoded,
  plainText,
  REDACTED,
  type WorkBudget,
} from '#pipelines/privacy/normalise_text.ts';
import { holdsPersonalText, redactText } from '#pipelines/privacy/redact_text.ts';
import type { ActionSource, Identifiers } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { type SiteRules, siteRules } from './site_rules.ts';
import type { TimedRequest, TimeWarning } from './timestamp.ts';

/** What the edge knows of a request besides its body. */
export interface IntakeContext extends TimedRequest {
  site: Site;
  /** Of the key that the request came with. */
  keyId: string;
  /** The peer's address after trusted proxies, never from properties. */
  clientIp: string | null;
  userAgent: string | null;
  /** Whether any of Origin, Sec-Fetch-* or Referer was sent. */
  browserSigns: boolean;
  /** Whether prefetch or prerender headers were sent. */
  prefetch: boolean;
  /** Whether the browser asked by Global Privacy Control not to sell or share; absent: it did not. */
  gpc?: boolean;
  /** The country the edge resolved the peer to, if it can. */
  country: string | null;
  /** Today's random salt, for anonymous ids. */
  anonymousSalt: Buffer;
  /** Secret for the HMAC of ids that are e-mail addresses or phone numbers. */
  identitySecret: Buffer;
  /** A new UUIDv7. */
  randomEventId(): string;
  /** The events were made here of what visitors did with surveys, promos and forms. */
  isEngageEvent?: boolean;
}

export type DropReason = 'bot' | 'prefetch' | 'blocked';

/** What is wrong with an event that is taken all the same. */
export type EventWarning = 'placeholder_id' | 'id_too_long' | 'uuid_missing' | TimeWarning;

export interface Device {
  ip: string | null;
  userAgent: string | null;
}

/** One request, with what its events share. */
export interface IntakeRequest {
  context: IntakeContext;
  rules: SiteRules;
  /** The peer, as its events may store it. */
  peer: Device;
  /** The countries whose phone numbers its texts may hold: the site's, and the peer's. */
  countries: readonly string[];
  /** What reading phone numbers may still cost. */
  budget: WorkBudget;
  /** Why none of its events counts, or null. */
  dropAll: DropReason | null;
  /** The peer's anonymous id, once an event has asked for it. */
  peerAnonymousId: string | null;
  /** That of the event before, where it was taken by the fast path: the events of a request are mostly of one. */
  lastVisitor: LastVisitor | null;
  /** Whether the site takes nothing of the peer, once the fast path has asked. */
  isPeerBlocked: boolean | null;
  /** What the fast path has done for events that it did not take, in steps of the budget. */
  lostSteps: number;
  /** How many events of the request had the same digest. */
  occurrences: Map<string, number>;
}

/** The id that was sent, what it cost to read it, and whom it says; null: that is for the careful path to say. */
interface LastVisitor {
  sent: string | null;
  steps: number;
  visitor: Visitor | null;
}

/** One event as it was sent: its fields are checked, its personal data is still in it. */
export interface SentEvent {
  name: string;
  /** Lower-cased if it is a UUID, a keyed hash if it held personal text. */
  uuid: string | null;
  distinctId: string | null;
  /** The other id of the visitor that the event names. */
  previousId: string | null;
  /** Whether one of these was sent as a placeholder, and so is none. */
  hasPlaceholder: boolean;
  /** Whether one of these stands for an id that was too long for one. */
  hasLongId: boolean;
  timestamp: number;
  originalTimestamp: string | null;
  /** Why the arrival stands for what was sent. */
  timeWarning: TimeWarning | null;
  /** The timestamp as it was written; null where it is none. */
  sentTimestamp: string | null;
  actionSource: ActionSource;
  /** Whether the event names its action source itself. */
  isSourceStated: boolean;
  properties: JsonObject;
  /** Those whose phone numbers its texts may hold. */
  countries: readonly string[];
}

const EVENTS_PER_PART = 50;

/**
 * What the events of a request share.
 *
 * @param events How many there are: as much may be done for each 50, which is what a request of ours may hold.
 */
export function beginRequest(context: IntakeContext, events: number): IntakeRequest {
  return {
    context,
    rules: siteRules(context.site),
    peer: context.isHistorical === true ? NOBODYS : peerOf(context),
    countries: [context.site.default_country, context.country].filter((country) => country !== null),
    budget: createWorkBudget(Math.max(1, Math.ceil(events / EVENTS_PER_PART))),
    dropAll: dropAll(context),
    peerAnonymousId: null,
    lastVisitor: null,
    isPeerBlocked: null,
    lostSteps: 0,
    occurrences: new Map(),
  };
}

/** Where the peer is, if it is the visitor's browser. */
export const browserCountry = ({ caller, country }: IntakeContext): string | null =>
  caller === 'browser' ? country : null;

/** Where historical events happened, who brings them in was not. */
const NOBODYS: Device = { ip: null, userAgent: null };

const peerOf = ({ clientIp, userAgent }: IntakeContext): Device => ({
  ip: clientIp === null ? null : normaliseIp(clientIp),
  userAgent: userAgent === null ? null : cleanUserAgent(userAgent),
});

function dropAll({ prefetch, caller, browserSigns, userAgent }: IntakeContext): DropReason | null {
  if (prefetch) return 'prefetch';
  return isBot(caller === 'browser' && browserSigns ? 'browser' : 'server', userAgent) ? 'bot' : null;
}

/** The anonymous id of a device; the peer's own is made once per request. */
function deviceAnonymousId(call: IntakeRequest, device: Device): string {
  if (device !== call.peer) return idOf(call, device);
  call.peerAnonymousId ??= idOf(call, device);
  return call.peerAnonymousId;
}

function idOf({ context }: IntakeRequest, { ip, userAgent }: Device): string {
  return anonymousId(context.anonymousSalt, context.site.site_id, ip, userAgent);
}

export interface Visitor {
  distinctId: string;
  identifiers: Identifiers | null;
}

/**
 * Who the event is about. An offline-mode site knows only the day's anonymous id. A sent id that is an e-mail address
 * or phone number is replaced, and fills the identifier where the properties had none of the visitor's own.
 */
export function visitorOf(
  sent: Pick<SentEvent, 'distinctId'>,
  found: Found,
  device: Device,
  call: IntakeRequest,
): Visitor {
  const { site, identitySecret } = call.context;
  if (site.mode === 'offline') return { distinctId: deviceAnonymousId(call, device), identifiers: null };
  if (sent.distinctId === null) return { distinctId: defaultId(found, device, call), identifiers: found.identifiers };
  const { distinctId, identifier } = cleanDistinctId(sent.distinctId, identitySecret, site, call.budget);
  if (identifier === null) return { distinctId, identifiers: found.identifiers };
  const identifiers = found.identifiers ?? noIdentifiers();
  const recipients = recipientsKinds(found);
  if (identifiers[identifier.kind] === null || recipients.includes(identifier.kind)) {
    for (const kind of recipients) copyIdentifier(identifiers, kind, noIdentifiers());
    putIdentifier(identifiers, identifier.kind, identifier.raw);
  }
  return { distinctId, identifiers };
}

/**
 * The anonymous id of the device; but a server's event that names its customer gets one of the customer. Else all whom a till
 * reports from one address, whom a shop behind a proxy reports under the proxy's, or who share a carrier's address and the user
 * agent of one phone's model, would be one visitor and be stitched into one person. What a browser's key says joins nobody who
 * is known.
 */
function defaultId(found: Found, device: Device, call: IntakeRequest): string {
  const customer = call.context.caller === 'browser' ? null : customerOf(found.identifiers);
  if (customer === null) return deviceAnonymousId(call, device);
  return customerAnonymousId(call.context.identitySecret, call.context.site.site_id, customer);
}

/** The hash by which a customer is known who is named. */
export function customerOf(identifiers: Identifiers | null): string | null {
  const { email, phone, external_id } = identifiers ?? noIdentifiers();
  return email ?? phone ?? external_id;
}

const PHONE_MARK = /^(?:tel:|\+|\(\+)/i;

interface CleanDistinctId {
  distinctId: string;
  /** What the sent id was, where it was an identifier itself. */
  identifier: { kind: 'email' | 'phone'; raw: string } | null;
}

/**
 * The distinct_id as it may be stored. One that is an e-mail address or a phone number written as one becomes `h_` and
 * the keyed hash of its normalised form, so that every spelling of it stays one visitor; one that merely holds such is
 * hashed as it stands. The site's country alone reads numbers without a country code.
 */
export function cleanDistinctId(
  sent: string,
  secret: Buffer,
  site: Pick<Site, 'default_country'>,
  budget?: WorkBudget,
): CleanDistinctId {
  const countries = idCountries(site);
  if (!holdsPersonalText(sent, countries, idWorkBudget(budget))) return { distinctId: sent, identifier: null };
  const plain = plainText(percentDecoded(sent), EVERYTHING);
  const email = normaliseEmail(plain);
  if (email !== null) return { distinctId: pseudonym(email, secret), identifier: { kind: 'email', raw: email } };
  const isPhone = PHONE_MARK.test(plain) || redactText(plain, false, countries, idWorkBudget(budget)) === REDACTED;
  const phone = isPhone ? readPhone(plain, site.default_country) : null;
  if (phone === null) return { distinctId: pseudonym(sent, secret), identifier: null };
  const { number, isOfOne } = phone;
  return { distinctId: pseudonym(number, secret), identifier: isOfOne ? { kind: 'phone', raw: number } : null };
}

const CODE = /^[A-Za-z]{2}$/;

/**
 * The countries by whose numbering plans ids are judged: the site's alone. The browser's copy and the server's copy of
 * an event may name different countries, or come from such, and must still have the same ids.
 */
export function idCountries({ default_country: country }: Pick<Site, 'default_country'>): readonly string[] {
  return country === null ? [] : [country];
}

/** The countries whose phone numbers an event's texts may hold: those known of the request, and the one it names itself. */
export function eventCountries(properties: JsonObject, known: readonly string[]): readonly string[] {
  const named = codeIn(properties) ?? codeIn(properties['user_data']) ?? codeIn(properties['$set']);
  return named === null || known.includes(named) ? known : [...known, named];
}

function codeIn(record: unknown): string | null {
  if (typeof record !== 'object' || record === null) return null;
  const { country, country_code: code } = record as JsonObject;
  if (typeof country === 'string' && CODE.test(country)) return country.toUpperCase();
  return typeof code === 'string' && CODE.test(code) ? code.toUpperCase() : null;
}

// Robots and HTTP libraries, by user agent.

/**
 * Who shows a user agent: a browser that called us, a server that called us, or a shopper whom a server reports. A
 * server may call itself what it likes, so of it only crawlers known by name are robots.
 */
type AgentSource = 'browser' | 'server' | 'shopper';

const VERDICTS_CACHED_MAX = 2048;
/** In the patterns of isbot: what is no literal text. */
const NOT_LITERAL = /\\.|\[[^\]]*\]|\(\?<?[=!][^)]*\)/g;

/**
 * Crawlers, monitors and driven browsers known by name, as patterns for any place in a user agent. Names only: a word
 * such as `bot`, `server` or `monitor` may well be in the name of a shop's own service.
 */
const NAMED_CRAWLERS: readonly string[] = [
  'google(?:bot|other|-inspectiontool|-extended|-read-aloud|-safety)|(?:adsbot|apis|feedfetcher|mediapartners|storebot)-google',
  'bingbot|bingpreview|msnbot|adidxbot',
  'yandex(?:bot|images|metrika|accessibilitybot|mobilebot|render)|baiduspider|sogou web spider|360spider|yisouspider|bytespider|petalbot',
  'duckduckbot|duckassistbot|applebot|amazonbot|seznambot|qwantify|qwantbot|slurp|exabot|mojeekbot|coccocbot|yeti/|naverbot|daum/',
  'gptbot|chatgpt-user|oai-searchbot|claudebot|claude-user|claude-web|anthropic-ai|perplexitybot|perplexity-user|ccbot|cohere-ai|diffbot|youbot|meta-externalagent|meta-externalfetcher|imagesiftbot|timpibot|omgilibot',
  'facebookexternalhit|facebot|facebookcatalog|twitterbot|linkedinbot|pinterestbot|pinterest/0|slackbot|slack-imgproxy|telegrambot|discordbot|redditbot|snap url preview|skypeuripreview|vkshare|tumblr/|embedly|iframely|mastodon/|tiktokspider',
  'semrushbot|siteauditbot|ahrefs(?:bot|siteaudit)|mj12bot|dotbot|rogerbot|blexbot|dataforseobot|serpstatbot|screaming frog|sistrix|seokicks|megaindex|linkdexbot|barkrowler|awariobot|zoominfobot|bomborabot|grapeshot|proximic|ias_crawler|turnitinbot|ia_archiver|archive\\.org_bot|heritrix|nutch|scrapy|colly|httrack',
  'headlesschrome|headless_shell|phantomjs|selenium|webdriver|playwright|puppeteer|cypress/|chrome-lighthouse|pagespeed|ptst/|gtmetrix|catchpoint|splash version',
  'pingdom|uptimerobot|uptime-kuma|statuscake|site24x7|newrelicpinger|newrelicsynthetics|datadogsynthetics|checklyhq|betteruptime|better stack better uptime|hetrixtools|nodeping|freshping|googlestackdrivermonitoring-uptimechecks|amazon-route53-health-check|elb-healthchecker|kube-probe',
  'zgrab|masscan|nuclei|nikto|sqlmap|nmap scripting engine|censysinspect|expanse, a palo alto|internetmeasurement|shodan',
];

/** What servers' HTTP libraries, shop systems, event libraries and apps built on them call themselves. */
export const HTTP_LIBRARIES = [
  'node | node-fetch/1.0 (+https://github.com/bitinn/node-fetch) | undici | axios/1.7.2',
  'got (https://github.com/sindresorhus/got) | okhttp/4.12.0 | Go-http-client/1.1',
  'GuzzleHttp/7 | GuzzleHttp/6.5.5 curl/7.68.0 PHP/7.4.3 | PHP/8.2 | PHP-SOAP/8.1.2 | Symfony HttpClient/Curl',
  'WordPress/6.4; https://shop.example | WooCommerce/8.2 Hook (WordPress/6.4) | Magento/2.4 | Shopify-Captain-Hook',
  'python-requests/2.31.0 | Python-urllib/3.11 | Python/3.11 aiohttp/3.9.1 | python-httpx/0.27.0',
  'Java/17.0.2 | Java-http-client/17.0.2 | Apache-HttpClient/4.5.13 (Java/11.0.20) | Jakarta Commons-HttpClient/3.1',
  'Faraday v2.7.4 | Ruby | rest-client/2.1.0 (linux x86_64) ruby/3.2.2p53 | reqwest/0.11.20 | hyper/0.14',
  'Dart/3.2 (dart:io) | curl/8.5.0 | Wget/1.21.4 | libwww-perl/6.67',
  'PostmanRuntime/7.36.0 | insomnia/8.4.5 | RestSharp/110.2.0.0',
  'posthog-node/5.70.0 | posthog-python/3.5.0 | analytics-node/3.1.0 | analytics-python/2.2.3 | rudder-sdk-node/3.0.13',
  'Zapier | Acme/412 CFNetwork/1410.0.3 Darwin/22.6.0 | Acme/3.1 (iPhone; iOS 17.4; Scale/3.00)',
  'Dalvik/2.1.0 (Linux; U; Android 13; Pixel 7 Build/TQ3A.230805.001)',
].flatMap((line) => line.split(' | '));

const JUDGES: Record<AgentSource, (userAgent: string) => boolean> = {
  browser: isbot,
  server: createIsbotFromList([...NAMED_CRAWLERS]),
  shopper: createIsbotFromList([...NAMED_CRAWLERS, ...list.filter(namesRobots)]),
};
/** Verdicts by user agent; one that holds personal text is judged anew each time instead of being held in memory. */
const verdicts: Record<AgentSource, Map<string, boolean>> = {
  browser: new Map(),
  server: new Map(),
  shopper: new Map(),
};

/** Whether the user agent is a robot's. A browser always has one; a server may have none. */
export function isBot(bearer: AgentSource, userAgent: string | null): boolean {
  if (userAgent === null || userAgent.trim() === '') return bearer === 'browser';
  return verdicts[bearer].get(userAgent) ?? judge(bearer, userAgent);
}

function judge(bearer: AgentSource, userAgent: string): boolean {
  const verdict = JUDGES[bearer](userAgent);
  if (redactText(userAgent) !== userAgent) return verdict;
  const known = verdicts[bearer];
  if (known.size >= VERDICTS_CACHED_MAX) known.clear();
  known.set(detached(userAgent), verdict);
  return verdict;
}

/**
 * Whether a pattern of isbot tells a robot by a word. Those that go by the mere shape of a user agent catch shop apps,
 * and those that catch HTTP libraries catch apps built on them.
 */
function namesRobots(pattern: string): boolean {
  if (!/[a-z]{3}/.test(pattern.replace(NOT_LITERAL, ' ')) || pattern.startsWith('^mozilla')) return false;
  return !HTTP_LIBRARIES.some((library) => new RegExp(pattern, 'i').test(library));
}
