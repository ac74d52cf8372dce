// A site's rules for its events, compiled once.
import { BlockList, isIPv4 } from 'node:net';
import { ALIASES, conversionName } from '#pipelines/events/vocabulary.ts';
import { normaliseIp } from '#pipelines/privacy/ip_addresses.ts';
import { comparableForm } from '#pipelines/privacy/key_words.ts';
import { detached } from '#pipelines/privacy/normalise_text.ts';
import type { Caller } from '#schemas/event.ts';
import type { BlockRule, Site } from '#schemas/setting.ts';
import { bitOfName } from './fast_path/text_signs.ts';

/** What of a site's settings is compiled once instead of at every event. */
export interface SiteRules {
  /** Null where there are none. */
  blocks: SiteBlocks | null;
  identifyNames: ReadonlySet<string>;
  serverOnlyNames: ReadonlySet<string>;
}

/** What a site takes no events of, by what is to be known for it. */
interface SiteBlocks {
  devices: readonly Test<BlockedDevice>[];
  names: readonly Test<string>[];
  /** As sent or as stored. */
  distinctIds: ReadonlySet<string>;
  properties: readonly Test<Readonly<Record<string, unknown>>>[];
  /** Names of properties that the tests read, in quotes, and their bits: an event without any of these is blocked for none. */
  propertiesRead: readonly { bit: number; quoted: string }[];
}
type Test<Facts> = (facts: Facts) => boolean;

export interface BlockedDevice {
  clientIp: string | null;
  userAgent: string | null;
  country: string | null;
}

/** All names by which platforms are sent the same: a browser's `Order Completed` would be a purchase there as well. */
function namesOfAct(name: string): string[] {
  const { canonical } = conversionName(name);
  return canonical === null ? [name] : [name, canonical, ...ALIASES[canonical]];
}

const compiled = new WeakMap<Site, SiteRules>();

/** The site's rules; a changed setting comes as a new Site and is compiled anew. */
export function siteRules(site: Site): SiteRules {
  const known = compiled.get(site);
  if (known !== undefined) return known;
  const rules = {
    blocks: site.block_rules.length === 0 ? null : compileBlocks(site.block_rules),
    identifyNames: identifyNames(site.identify_events),
    serverOnlyNames: identifyNames(site.server_only_events.flatMap(namesOfAct)),
  };
  compiled.set(site, rules);
  return rules;
}

/** Rules as tests. One that cannot be read, such as a broken CIDR range, blocks nothing. */
function compileBlocks(rules: readonly BlockRule[]): SiteBlocks {
  const of = (kind: BlockRule['kind']): BlockRule[] => rules.filter((rule) => rule.kind === kind);
  const properties = of('property').map(({ property, value }) => ({ path: property ?? '', value }));
  const names = new Set(properties.flatMap(({ path }) => [path, path.split('.')[0] ?? '']));
  return {
    devices: [
      ...of('ip').map(({ value }) => ipTest(value)),
      ...of('user_agent').map(({ value }) => userAgentTest(value)),
      ...of('country').map(({ value }) => countryTest(value)),
    ],
    names: of('event').map(({ value }) => eventTest(value)),
    distinctIds: new Set(of('distinct_id').map(({ value }) => value)),
    properties: properties.map(({ path, value }) => propertyTest(path, value)),
    propertiesRead: [...names].map((name) => ({ bit: bitOfName(name), quoted: `"${name}"` })),
  };
}

/** Whether some test says so of what it is about. */
export function isAny<Facts>(tests: readonly Test<Facts>[], facts: Facts): boolean {
  for (const test of tests) if (test(facts)) return true;
  return false;
}

function countryTest(value: string): Test<BlockedDevice> {
  const code = value.trim().toUpperCase();
  return ({ country }) => country !== null && country.toUpperCase() === code;
}

function ipTest(range: string): Test<BlockedDevice> {
  const [address = '', prefix] = range.trim().split('/');
  const network = normaliseIp(address);
  if (network === null || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) return never;
  const family = isIPv4(network) ? 'ipv4' : 'ipv6';
  const bitsMax = family === 'ipv4' ? 32 : 128;
  // A v4-mapped range counts its 96 mapped bits in its prefix.
  const mappedBits = family === 'ipv4' && address.includes(':') ? 96 : 0;
  const bits = prefix === undefined ? bitsMax : Number(prefix) - mappedBits;
  if (bits < 0 || bits > bitsMax) return never;
  const blocks = new BlockList();
  blocks.addSubnet(network, bits, family);
  // The events of a request mostly share their address.
  let last = { clientIp: '', inside: false };
  return ({ clientIp }) => {
    if (clientIp === null) return false;
    if (clientIp !== last.clientIp) {
      const ip = normaliseIp(clientIp);
      const isOfFamily = ip !== null && isIPv4(ip) === (family === 'ipv4');
      last = { clientIp, inside: isOfFamily && blocks.check(ip, family) };
    }
    return last.inside;
  };
}

function userAgentTest(pattern: string): Test<BlockedDevice> {
  const parts = pattern
    .toLowerCase()
    .split('*')
    .filter((part) => part !== '');
  if (parts.length === 0) return never;
  return ({ userAgent }) => userAgent !== null && holdsInOrder(userAgent.toLowerCase(), parts);
}

function eventTest(pattern: string): Test<string> {
  if (!pattern.includes('*')) return (event) => event === pattern;
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1);
  return (event) =>
    event.length >= first.length + last.length &&
    event.startsWith(first) &&
    event.endsWith(last) &&
    holdsInOrder(event.slice(first.length, event.length - last.length), middle);
}

function holdsInOrder(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

/** A property is found by its whole path as a name, or from object to object. */
function propertyTest(path: string, value: string): Test<Readonly<Record<string, unknown>>> {
  const keys = path.split('.');
  return (properties) => {
    const found = Object.hasOwn(properties, path) ? properties[path] : valueAt(properties, keys);
    return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
      ? String(found) === value
      : false;
  };
}

function valueAt(properties: unknown, keys: readonly string[]): unknown {
  let value = properties;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function never(): boolean {
  return false;
}

/**
 * Names of events that may stitch identities unless the site lists its own: those of PostHog, Segment, Mixpanel,
 * Amplitude, GA4 and Meta by which a visitor says who they are.
 */
const IDENTIFY_EVENTS = [
  '$identify identify $set alias $create_alias $merge_dangerously sign_up signed_up signup login lead generate_lead',
  'complete_registration subscribe purchase order_completed',
].flatMap((list) => list.split(' '));

/** The names as they are compared: case and separators do not count. */
function identifyNames(listed: readonly string[] | null): ReadonlySet<string> {
  return new Set((listed ?? IDENTIFY_EVENTS).map(comparableForm));
}

export function isIdentifyName(names: ReadonlySet<string>, event: string): boolean {
  return names.has(comparableName(event));
}

/** Whether the site takes events of this name from servers alone, and a browser sent it. */
export function isForServers({ serverOnlyNames }: SiteRules, event: string, caller: Caller): boolean {
  return caller === 'browser' && serverOnlyNames.size > 0 && isIdentifyName(serverOnlyNames, event);
}

const NAMES_CACHED_MAX = 1024;
/** A name that may be an address or a number is not held in memory. */
const CACHEABLE = /^[A-Za-z_ $-]{1,64}$/;
const comparable = new Map<string, string>();

function comparableName(event: string): string {
  const known = comparable.get(event);
  if (known !== undefined) return known;
  const word = comparableForm(event);
  if (CACHEABLE.test(event)) {
    if (comparable.size >= NAMES_CACHED_MAX) comparable.clear();
    comparable.set(detached(event), detached(word));
  }
  return word;
}
