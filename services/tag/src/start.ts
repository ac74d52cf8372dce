import { type Choice, choiceOf, isRefused, say, watchConsent } from './consent_gate.ts';
import { count, counters, forgetDay, keepDays } from './day_counters.ts';
import { type EventStore, openStore, removeStore } from './event_store.ts';
import { attempt, guarded, listen } from './guarded.ts';
import { impersonal } from './impersonal.ts';
import { createVendors, startDefinitions, startEngage, startInventory } from './lazy_parts.ts';
import { loadScript } from './load_script.ts';
import { addWaiting, forgetWaiting, openOutbox, waitingCount, wake } from './outbox.ts';
import { watchPages, whenShown } from './page_views.ts';
import { askConfig } from './site_settings.ts';
import type {
  DefinitionsHost,
  EventDefinition,
  InventoryBody,
  Properties,
  ScriptsHost,
  SiteConfig,
  Vendors,
} from './types.ts';
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
  event: string;
  uuid: string;
  atMs: number;
  properties: Properties;
  /** Another id of the visitor that the event is told under; absent for the visitor's own. */
  as?: string;
  definition?: EventDefinition;
}

const CONFIG_MS_MAX = 2000;
const PENDING_MAX = 1000;
const CONVERSIONS = /^(purchase|(generate_)?lead|sign_up)$/;
/** By these visitors say who they are. */
const IDENTITIES = /^\$(identify|create_alias)$/;

let options: StartOptions;
let config: SiteConfig | undefined;
/** The edge refused the key or the origin: there is nobody to tell anything to. */
let isShut = false;
let keyMs = 0;
/** The configuration is late, but the browser's cookie says that the site gave out ids. */
let isPresumed = false;
let wasKnown = false;
let isStarted = false;
let pending: Draft[] = [];
let store: EventStore | undefined;
let definitions: (DefinitionsHost & ScriptsHost) | undefined;
let vendors: Vendors | undefined;
let referrer = '';
let href = '';
const pageListeners: (() => void)[] = [];
const readyListeners: (() => void)[] = [];

const isOffline = (): boolean => config?.mode === 'offline';
const hasGpc = (): boolean =>
  config?.tag?.respect_gpc !== false && (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;
const hasDnt = (): boolean => config?.tag?.respect_dnt !== false && navigator.doNotTrack === '1';
const isRequired = (): boolean => config?.tag?.consent?.required || options.consent === 'required';

/**
 * Whether events go out. As long as the site's mode is not known they wait: it may be offline, where nothing may tell one
 * visitor from another.
 */
function gate(): 'open' | 'wait' | 'shut' {
  if (isShut) return 'shut';
  if (hasDnt()) return config ? 'shut' : 'wait';
  if (choiceOf('analytics') ?? (!isRequired() || wasKnown)) return config || isPresumed ? 'open' : 'wait';
  return (config?.tag?.consent?.queue ?? !config) && !isRefused('analytics') ? 'wait' : 'shut';
}

const mayStore = (): boolean => gate() === 'open' && !isOffline();
const allowsAds = (): boolean => mayStore() && !hasGpc() && (choiceOf('ads') ?? !isRequired());
const storeName = (): string => `svc.${options.key}`;
function storeNow(): EventStore | undefined {
  if (!mayStore()) return undefined;
  store ??= openStore(storeName());
  return store;
}

function draft(event: string, given?: Properties, more?: Partial<Draft>): string {
  const atMs = Date.now();
  // Also of one millisecond, later events have later keys.
  keyMs = Math.max(atMs, keyMs + 1);
  const key = uuid7(keyMs);
  const page = { $current_url: location.href, $referrer: referrer || undefined, $title: document.title || undefined };
  const one: Draft = { key, uuid: key, event, atMs, properties: { ...given, ...page }, ...more };
  const now = gate();
  if (now === 'open') release(one);
  if (now === 'wait') pending = [...pending.slice(1 - PENDING_MAX), one];
  return one.uuid;
}

/** What is said of the visit: how it began, and what the visitor allows. */
function visitOf({ properties, atMs }: Draft): Properties {
  const ads = allowsAds();
  const session = sessionId(atMs);
  const arrival = arrivalOf(new URL(String(properties['$current_url'])).search, session, atMs, ads);
  const isStated = isRequired() || choiceOf('ads') !== undefined;
  return {
    ...arrival,
    ...(ads && platformIds(arrival['fbclid'], atMs, !!config?.facebook)),
    $gpc: hasGpc() || undefined,
    $consent: isStated ? { ads, analytics: true } : undefined,
    $session_id: session,
  };
}

function release(one: Draft, isAnonymous = isOffline()): void {
  const { key, event, uuid, atMs, as, definition } = one;
  if (isAnonymous && IDENTITIES.test(event)) return;
  const properties = isAnonymous ? impersonal(one.properties) : { ...visitOf(one), ...one.properties };
  const own = isAnonymous ? undefined : visitorId(atMs);
  // Of who says to be somebody the id up to now is told as well, under PostHog's word for it.
  if (as) properties['$anon_distinct_id'] = own;
  const sent = { event, uuid, distinct_id: as ?? own, timestamp: new Date(atMs).toISOString(), properties };
  addWaiting([key, JSON.stringify(sent)], CONVERSIONS.test(event) || !!definition?.conversion_event);
  attempt(() => vendors?.event(one));
}

const releaseAll = (isAnonymous?: boolean): void => {
  for (const one of pending.splice(0)) attempt(() => release(one, isAnonymous));
};

/** Does what the configuration and the visitor's choice, as they are now, ask for. */
function settle(): void {
  const now = gate();
  const isOpen = now === 'open';
  if (now === 'shut') {
    pending = [];
    forgetWaiting();
  }
  if (now === 'shut' || isOffline()) wipe();
  if (isOpen && config && !isStarted) startParts(config);
  attempt(() => vendors?.start());
  if (isOpen) releaseAll();
  if (isOpen) wake();
}

/** Removes what an earlier choice or mode let the tag keep. */
function wipe(): void {
  forgetVisitor();
  forgetDay();
  store = undefined;
  attempt(() => removeStore(storeName()));
}

const onPage = (listener: () => void): void => {
  pageListeners.push(guarded(listener));
  guarded(listener)();
};

function startParts(known: SiteConfig): void {
  isStarted = true;
  const { inventory = true, engage, web_vitals } = known.tag ?? {};
  const { key, base, nonce } = options;
  const host = { key, base, load: (url: string) => loadScript(url, nonce), config: known, onPage, submit };
  const track = (event: string, properties: Properties, definition?: EventDefinition): void =>
    void draft(event, properties, definition && { definition });
  vendors = createVendors(known, { ...host, ads: allowsAds, analytics: mayStore });
  definitions = { ...host, fire: track };
  startDefinitions(known.events, definitions);
  if (inventory) startInventory(host);
  if (engage || web_vitals) startEngage({ ...host, track });
  const health = keepDays(mayStore);
  if (health) draft('$tag_health', { ...health });
}

const address = (path: string): string => `${options.base}v1/${path}?key=${encodeURIComponent(options.key)}`;

/** What definitions could be made of is nobody's visit: it is sent once, and not again where that comes to nothing. */
const submit = (body: InventoryBody): void =>
  void fetch(address('inventory'), { method: 'POST', body: JSON.stringify(body), credentials: 'omit' }).catch(() => 0);

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
  if (config || isShut || hasDnt() || (isRequired() && !wasKnown) || choiceOf('analytics') === false) return;
  releaseAll(!wasKnown);
}

function begin(): void {
  wasKnown = isKnown();
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
  config = answer;
  isShut = !answer;
  settle();
  if (answer) for (const listener of readyListeners.splice(0)) listener();
}

/** The calls a page makes. None throws, and each may be made before the tag knows what the site wants. */
export const api = {
  /** @returns the event's uuid, by which pixels and the edge know it; `given.uuid` is taken where it is stated. */
  track: guarded((event: string, properties?: Properties, given?: { uuid?: string }) =>
    draft(
      String(event),
      definitions?.enrich?.(event, properties ?? {}) ?? properties,
      given?.uuid ? { uuid: String(given.uuid) } : {},
    ),
  ),
  /** `identify('customer-1', { email })`, or `identify({ email })` where there is no id. */
  identify: guarded((id?: string | number | Properties, traits?: Properties) =>
    typeof id === 'object' ? draft('$identify', id) : draft('$identify', traits, id ? { as: String(id) } : {}),
  ),
  /** The visitor is known under that id as well. */
  alias: guarded((id: string) => draft('$create_alias', { alias: id })),
  page: guarded(page),
  consent: guarded((choice: Choice) => {
    say(choice);
    settle();
  }),
  /** The next event is another visitor's. */
  reset: guarded(() => mayStore() && forgetVisitor()),
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
    waiting: pending.length + waitingCount(),
    ...counters,
  })),
};

/** Starts the tag when the page is shown. */
export function start(given: StartOptions): void {
  if (options) return;
  options = given;
  attempt(() => whenShown(begin));
}
