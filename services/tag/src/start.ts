import { type Choice, choiceOf, said, watchConsent } from './consent_gate.ts';
import { count, counters, forgetDay, keepDays } from './day_counters.ts';
import { type EventStore, openStore } from './event_store.ts';
import { attempt, guarded, listen } from './guarded.ts';
import { impersonal } from './impersonal.ts';
import { startPart } from './lazy_parts.ts';
import { loadScript } from './load_script.ts';
import { addWaiting, openOutbox, waitingHere, wake } from './outbox.ts';
import { watchPages, whenShown } from './page_views.ts';
import { askConfig } from './site_settings.ts';
import type { EventDefinition, PartHost, Properties, SiteConfig, Vendors } from './types.ts';
import { uuid7 } from './uuid7.ts';
import { arrivalOf, forgetVisitor, isKnown, platformIds, sessionId, visitorId } from './visitor_ids.ts';

/** What the page that loads the tag says about itself. */
export interface StartOptions {
  key: string;
  /** The address that the edge's routes follow, with a slash at its end. */
  base: string;
  nonce?: string | undefined;
  /** `manual`: the page itself calls `page()`. */
  pages?: string | undefined;
  /** `required`: nothing is measured before the visitor agrees, also as long as the site's configuration has not come. */
  consent?: string | undefined;
}

/** What stands behind the edge's address in that of a script: under its name, under /v1/, or under its content's digest. */
export const OF_SCRIPT = /(v1\/)?(svc\/[^/]+\/)?svc[^/]*$/;

/** An event as it happened, before it is known whether and as what it may be sent. */
interface Draft {
  key: string;
  /** Undefined: what comes after it is another visitor's. It keeps its place among what waits, and is not sent. */
  event: string | undefined;
  uuid: string;
  atMs: number;
  properties: Properties;
  /** Another id of the visitor that the event is told under; empty for the visitor's own. */
  as: string;
  definition: EventDefinition | undefined;
}

const CONFIG_MS_MAX = 2000;
const INVENTORY_AFTER_MS = 2000;
const PENDING_MAX = 1000;
const CONVERSIONS = /^(purchase|(generate_)?lead|sign_up)$/;
/** By these visitors say who they are. */
const IDENTITIES = /^\$(identify|create_alias)$/;

let options: StartOptions;
/** Null: the edge refused the key or the origin, there is nobody to tell anything to. Undefined: it has not come. */
let config: SiteConfig | null | undefined;
let keyMs = 0;
/** The configuration is late, but the browser's cookie says that the site gave out ids. */
let isPresumed = false;
let wasKnown = false;
let pending: Draft[] = [];
let store: EventStore | undefined;
let host: PartHost | undefined;
let vendors: Promise<Vendors | undefined> | undefined;
let referrer = '';
let href = '';
const pageListeners: (() => void)[] = [];
const readyListeners: (() => void)[] = [];

const isOffline = (): boolean => config?.mode === 'offline';
const hasGpc = (): boolean =>
  config?.tag?.respect_gpc !== false && (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;
const hasDnt = (): boolean => config?.tag?.respect_dnt !== false && navigator.doNotTrack === '1';
const isRequired = (): boolean => config?.tag?.consent?.required || options?.consent === 'required';

const isPermitted = (): boolean => choiceOf('analytics') ?? (!isRequired() || wasKnown);

type Gate = 'open' | 'wait' | 'shut';

/**
 * Whether events may go out. As long as the site's mode is not known they wait: it may be offline, where nothing may tell one
 * visitor from another.
 */
function permission(): Gate {
  if (hasDnt()) return config ? 'shut' : 'wait';
  if (isPermitted()) return config || isPresumed ? 'open' : 'wait';
  return (config?.tag?.consent?.queue ?? !config) && said.analytics !== false ? 'wait' : 'shut';
}

const gate = (): Gate => (config === null ? 'shut' : permission());

const mayStore = (): boolean => gate() === 'open' && !isOffline();
const allowsAds = (): boolean => mayStore() && !hasGpc() && !!(choiceOf('ads') ?? (config && !isRequired()));
const storeNow = (): EventStore | undefined => (mayStore() ? store : undefined);
const tellVendors = (tell: (all: Vendors) => void): void =>
  void vendors?.then((all) => all && tell(all)).catch(() => undefined);

interface More {
  as?: string | number | undefined;
  uuid?: string;
  definition?: EventDefinition | undefined;
}

function draft(event: string | undefined, given?: Properties, { as, uuid, definition }: More = {}): string {
  const atMs = Date.now();
  // Also of one millisecond, later events have later keys.
  keyMs = Math.max(atMs, keyMs + 1);
  const key = uuid7(keyMs);
  const page = { $current_url: location.href, $referrer: referrer || undefined, $title: document.title || undefined };
  const told = { uuid: String(uuid || key), as: String(as || ''), definition };
  const one: Draft = { key, event, atMs, properties: { ...given, ...page }, ...told };
  if (gate() === 'wait') pending = [...pending.slice(1 - PENDING_MAX), one];
  else release(one);
  return one.uuid;
}

/** What is said of the visit: how it began, and what the visitor allows. */
function visitOf({ properties, atMs }: Draft): Properties {
  const ads = allowsAds();
  const session = sessionId(atMs);
  const arrival = arrivalOf(new URL(String(properties['$current_url'])).search, session, atMs, ads);
  return {
    ...arrival,
    ...(ads && platformIds(arrival['fbclid'], atMs, !!config?.facebook)),
    $gpc: hasGpc() || undefined,
    $consent: !config || isRequired() || choiceOf('ads') !== undefined ? { ads, analytics: true } : undefined,
    $session_id: session,
  };
}

function release(one: Draft, isAnonymous = isOffline()): void {
  const { event, uuid, atMs, as } = one;
  if (event === undefined) {
    forgetVisitor();
    return;
  }
  if (gate() === 'shut' || (isAnonymous && IDENTITIES.test(event))) return;
  const properties = isAnonymous ? impersonal(one.properties) : { ...visitOf(one), ...one.properties };
  const own = isAnonymous ? undefined : visitorId(atMs);
  // Of who says to be somebody the id up to now is told as well, under PostHog's word for it.
  if (as) properties['$anon_distinct_id'] = own;
  const sent = { event, uuid, distinct_id: as || own, timestamp: new Date(atMs).toISOString(), properties };
  addWaiting([one.key, JSON.stringify(sent)], CONVERSIONS.test(event) || !!one.definition?.conversion_event);
  tellVendors((all) => all.event({ ...one, event }));
}

const releaseAll = (isAnonymous?: boolean): void => {
  for (const one of pending.splice(0)) attempt(() => release(one, isAnonymous));
};

/** Does what the configuration and the visitor's choice, as they are now, ask for. */
function settle(): void {
  const now = gate();
  const isOpen = now === 'open';
  if (now === 'shut') waitingHere.clear();
  // An edge that knows no such key or origin does not speak for the visitor, nor for the site's other origins.
  if (permission() === 'shut' || isOffline()) wipe();
  if (isOpen && config && !host) startParts(config);
  tellVendors((all) => all.start());
  if (now !== 'wait') releaseAll();
  if (isOpen) wake();
}

/** Removes what an earlier choice or mode let the tag keep. */
function wipe(): void {
  forgetVisitor();
  forgetDay();
  attempt(() => store?.end());
}

const onPage = (listener: () => void): void => {
  pageListeners.push(guarded(listener));
  guarded(listener)();
};

/** Starts what the site has beside the tag itself, each where it has any. */
function startParts(known: SiteConfig): void {
  const { facebook, tiktok, ga4, gtm, clarity, events } = known;
  const { inventory = true, engage, web_vitals } = known.tag ?? {};
  const all: PartHost = {
    ...options,
    address,
    config: known,
    load: (url) => loadScript(url, options.nonce),
    onPage,
    track: (event, properties, definition) => void draft(event, properties, { definition }),
    ads: allowsAds,
    analytics: mayStore,
  };
  host = all;
  if (!isOffline() && (facebook ?? tiktok ?? ga4 ?? gtm ?? clarity)) vendors = startPart<Vendors>(all, 'vendors');
  if (events[0]) void startPart(all, 'definitions');
  if (inventory) setTimeout(() => startPart(all, 'inventory'), INVENTORY_AFTER_MS);
  if (engage || web_vitals) void startPart(all, 'engage');
  const health = keepDays(mayStore);
  if (health) draft('$tag_health', health);
}

const address = (path: string): string => `${options.base}v1/${path}?key=${encodeURIComponent(options.key)}`;

/** The page shows what it did not show before. */
function page(properties?: Properties): void {
  referrer = href || document.referrer;
  href = location.href;
  draft('$pageview', properties);
  for (const listener of pageListeners) listener();
}

/**
 * The page may be gone for good, and with it what waits for the configuration. It goes as an offline site's: nothing in it
 * tells one visitor from another, unless the browser was given an id before.
 */
function leave(): void {
  if (config === undefined && !hasDnt() && isPermitted()) releaseAll(!wasKnown);
}

function begin(): void {
  wasKnown = isKnown();
  store = openStore(`svc.${options.key}`);
  openOutbox(address('ingest'), storeNow, leave);
  watchConsent(settle);
  listen(document, 'securitypolicyviolation', (event) => {
    if ((event as SecurityPolicyViolationEvent).blockedURI.startsWith(options.base)) count('blocked');
  });
  askConfig(address('config'), guarded(configured));
  const presume = (): void => {
    isPresumed = wasKnown;
    settle();
  };
  setTimeout(guarded(presume), CONFIG_MS_MAX);
  if (options.pages === 'manual') return;
  page();
  watchPages(page);
  listen(window, 'pageshow', (event) => (event as PageTransitionEvent).persisted && page());
}

function configured(answer: SiteConfig | undefined): void {
  config = answer ?? null;
  settle();
  if (answer) for (const listener of readyListeners.splice(0)) listener();
}

/** The calls a page makes. None throws, and each may be made before the tag knows what the site wants. */
export const api = {
  /** @returns the event's uuid, by which pixels and the edge know it; `given.uuid` is taken where it is stated. */
  track: guarded((event: string, properties?: Properties, given?: { uuid?: string }) =>
    draft(String(event), host?.enrich?.(event, properties ?? {}) ?? properties, given),
  ),
  /** `identify('customer-1', { email })`, or `identify({ email })` where there is no id. */
  identify: guarded((id?: string | number | Properties, traits?: Properties) =>
    typeof id === 'object' ? draft('$identify', id) : draft('$identify', traits, { as: id }),
  ),
  /** The visitor is known under that id as well. */
  alias: guarded((id: string) => draft('$create_alias', { alias: id })),
  page: guarded(page),
  consent: guarded((choice: Choice) => {
    Object.assign(said, choice);
    settle();
  }),
  /** The next event is another visitor's. */
  reset: guarded(() => void draft(undefined)),
  /** Calls it when the site's configuration is there. */
  ready: guarded((listener: () => void) => {
    if (config) listener();
    else readyListeners.push(guarded(listener));
  }),
  /** How the tag is doing, for people who look for events that are missing. */
  status: guarded(() => ({
    mode: config?.mode,
    gate: gate(),
    ads: allowsAds(),
    waiting: pending.length + waitingHere.size,
    ...counters,
  })),
};

/** Starts the tag when the page is shown. */
export function start(given: StartOptions): void {
  if (options) return;
  options = given;
  attempt(() => whenShown(begin));
}
