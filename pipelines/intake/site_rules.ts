// A site's rules for its events, compiled once.
import { BlockList, isIPv4 } from 'node:net';
import { ALIASES, conversionName } from '#pipelines/events/vocabulary.ts';
import { normaliseIp } from '#pipelines/privacy/ip_addresses.ts';
import { comparableForm } from '#pipelines/privacy/key_words.ts';
import { detached } from '#pipelines/privacy/normalise_text.ts';
import type { Caller } from '#schemas/event.ts';
import type { BlockRule, Site } from '#schemas/setting.ts';

/** What of a site's settings is compiled once instead of at every event. */
export interface SiteRules {
  blocks: readonly BlockTest[];
  /** Names of properties that the tests read, in quotes: an event without any of these is blocked for none. */
  blockedProperties: readonly string[];
  identifyNames: ReadonlySet<string>;
  serverOnlyNames: ReadonlySet<string>;
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
    blocks: site.block_rules.map(compileBlockRule),
    blockedProperties: [...new Set(site.block_rules.flatMap(propertiesRead))].map((name) => `"${name}"`),
    identifyNames: identifyNames(site.identify_events),
    serverOnlyNames: identifyNames(site.server_only_events.flatMap(namesOfAct)),
  };
  compiled.set(site, rules);
  return rules;
}

interface BlockFacts {
  clientIp: string | null;
  userAgent: string | null;
  country: string | null;
  event: string;
  /** As sent and as stored. */
  distinctIds: readonly (string | null)[];
  properties: Readonly<Record<string, unknown>>;
}
type BlockTest = (facts: BlockFacts) => boolean;

/** A rule as a test. One that cannot be read, such as a broken CIDR range, blocks nothing. */
function compileBlockRule(rule: BlockRule): BlockTest {
  const { kind, value } = rule;
  switch (kind) {
    case 'ip':
      return ipTest(value);
    case 'user_agent':
      return userAgentTest(value);
    case 'country':
      return ({ country }) => country !== null && country.toUpperCase() === value.trim().toUpperCase();
    case 'event':
      return eventTest(value);
    case 'property':
      return propertyTest(rule.property ?? '', value);
    case 'distinct_id':
      return ({ distinctIds }) => distinctIds.includes(value);
  }
}

function ipTest(range: string): BlockTest {
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

function userAgentTest(pattern: string): BlockTest {
  const parts = pattern
    .toLowerCase()
    .split('*')
    .filter((part) => part !== '');
  if (parts.length === 0) return never;
  return ({ userAgent }) => userAgent !== null && holdsInOrder(userAgent.toLowerCase(), parts);
}

function eventTest(pattern: string): BlockTest {
  if (!pattern.includes('*')) return ({ event }) => event === pattern;
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1);
  return ({ event }) =>
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
function propertiesRead({ kind, property }: BlockRule): string[] {
  if (kind !== 'property') return [];
  const path = property ?? '';
  return [path, path.split('.')[0] ?? ''];
}

function propertyTest(path: string, value: string): BlockTest {
  const keys = path.split('.');
  return ({ properties }) => {
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
