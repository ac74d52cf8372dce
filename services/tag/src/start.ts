import { type Choice, choiceOf, hear, say, tellTabs, watchConsent } from './consent.ts';
import { type Draft, draftOf, pagesBy, turnPage, watchPages } from './events.ts';
import { askConfig, loadScript, startPart } from './lazy_parts.ts';
import { CONFIG_MS_MAX, INVENTORY_AFTER_MS, PENDING_MAX, RENDERED_MS } from './limits.ts';
import { addWaiting, countDropped, openOutbox, waitingHere, wake } from './outbox.ts';
import { attempt, guarded, listen } from './page.ts';
import { bare, covered } from './redact.ts';
import { count, counters, DAY_KEY, type EventStore, keep, keepDays, openStore } from './storage.ts';
import type { PartHost, Properties, SiteConfig, VendorEvent, Vendors } from './types.ts';
import { adIds, arrivalOf, forgetClicks, forgetVisitor, keptId, sessionId, visitor, visitorId } from './visitor.ts';

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

const CONVERSIONS = /^(purchase|(generate_)?lead|sign_up)$/;
/** `$identify` and `$create_alias`, by which visitors say who they are. */
const IDENTITIES = /^\$(id|cr)/;

interface TcfWindow {
  __tcfapi?: unknown;
}

let options: StartOptions;
/** Null: the edge refused the key or the origin, there is nobody to tell anything to. Undefined: it has not come. */
let config: SiteConfig | null | undefined;
let settings: NonNullable<SiteConfig['tag']> = {};
/** The configuration does not come soon: a browser that has an id is one of an online site. */
let isLate: boolean | undefined;
const pending: Draft[] = [];
/** The event of the page that is being rendered. */
let showing: Draft | undefined;
let store: EventStore | undefined;
let host: PartHost | undefined;
let isStarted: boolean | undefined;
/** The configuration is there, and in offline mode the script that has a part in every event. */
let isReady: boolean | undefined;
/** Takes what tells visitors from each other off an event of a site in offline mode. */
let strip: ((properties: Properties) => Properties) | undefined;
let vendors: Promise<Vendors | undefined> | undefined;
const pageListeners: (() => void)[] = [];
const readyListeners: (() => void)[] = [];

const isOffline = (): boolean => config?.mode === 'offline';
const hasGpc = (): unknown =>
  settings.respect_gpc !== false && (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl;
const hasDnt = (): boolean => settings.respect_dnt !== false && navigator.doNotTrack === '1';
/** Also as long as what the visitor said by the IAB's TCF is not read: until the configuration is there. */
const isRequired = (): unknown =>
  settings.consent?.required || options?.consent === 'required' || (!host && (window as TcfWindow).__tcfapi);

const isPermitted = (): boolean | string | 0 => choiceOf('analytics') ?? (!isRequired() || keptId());

type Gate = 'open' | 'wait' | 'shut';

/**
 * Whether events may go out. As long as the site's mode is not known they wait: it may be offline, where nothing may tell one
 * visitor from another.
 */
const permission = (): Gate => {
  if (hasDnt()) return config ? 'shut' : 'wait';
  if (isPermitted()) return isReady || (isLate && keptId()) ? 'open' : 'wait';
  return (settings.consent?.queue ?? !config) && choiceOf('analytics') !== false ? 'wait' : 'shut';
};

const gate = (): Gate => (config === null ? 'shut' : permission());

const mayStore = (): boolean => gate() === 'open' && !isOffline();
const allowsAds = (): boolean => mayStore() && !hasGpc() && !!(choiceOf('ads') ?? (config && !isRequired()));

const tellVendors = (tell: (all: Vendors) => void): void => void vendors?.then(guarded(tell as () => void));

/** What is drafted waits for its turn, also behind the page that is being rendered. @returns the event's uuid. */
const add = (one: Draft): string => {
  if (pending.push(one) > PENDING_MAX) {
    pending.shift();
    countDropped();
  }
  releaseAll();
  return one.uuid;
};

const draft = (...given: Parameters<typeof draftOf>): string => add(draftOf(...given));

/** What is said of the visit: how it began, and what the visitor allows. */
const visitOf = ({ properties, atMs_: atMs }: Draft): Properties => {
  const ads = allowsAds();
  const session = sessionId(atMs);
  const arrival = arrivalOf(new URL(properties['$current_url'] as string).search, session, atMs, ads);
  if (ads) host?.makeAdIds?.(arrival['fbclid'], atMs);
  return {
    ...arrival,
    ...(ads && adIds()),
    $gpc: hasGpc() || undefined,
    $consent: config && !isRequired() && choiceOf('ads') === undefined ? undefined : { ads, analytics: true },
    $session_id: session,
  };
};

const release = (one: Draft): void => {
  const { event, uuid, atMs_: atMs, as_: as, definition_: definition } = one;
  if (event === undefined) {
    const keepsConsent = mayStore();
    forgetVisitor();
    // Without an id this and the other tabs would take it that the visitor refuses now.
    if (keepsConsent) visitorId(atMs);
    tellTabs();
    return;
  }
  // Of a page that is left before the configuration came, unless the browser was given an id before.
  const isAnonymous = isOffline() || (!host && !keptId());
  if (gate() === 'shut' || (isAnonymous && IDENTITIES.test(event))) return;
  const own = isAnonymous ? undefined : visitorId(atMs);
  const properties = isAnonymous ? (strip ?? bare)(one.properties) : { ...visitOf(one), ...one.properties };
  // Of who says to be somebody the id up to now is told as well, under PostHog's word for it.
  if (as) properties['$anon_distinct_id'] = own;
  const name = isAnonymous ? covered(event) : event;
  const sent = {
    event: name,
    uuid,
    distinct_id: as ? `${as}` : own,
    // As JSON has it: in UTC.
    timestamp: new Date(atMs),
    properties,
  };
  one.sent_ = sent;
  addWaiting(one.key_, sent, CONVERSIONS.test(event) || definition?.conversion_event);
  tellVendors((all) => all.event(one as VendorEvent));
};

const releaseAll = (isLeaving?: boolean): void => {
  if (isLeaving || gate() !== 'wait') for (const one of pending.splice(0)) attempt(() => release(one));
};

/** Does what the configuration and the visitor's choice, as they are now, ask for. */
const settle = (): void => {
  const now = gate();
  const isOpen = now === 'open';
  if (now === 'shut') waitingHere.clear();
  // An edge that knows no such key or origin does not speak for the visitor, nor for the site's other origins.
  // What a page tells Google by default is no refusal: the visitor's own word may come a moment later.
  if ((permission() === 'shut' && choiceOf('analytics') !== 0) || isOffline()) {
    forgetVisitor();
    keep(DAY_KEY);
    attempt(() => store?.end_());
  }
  if (isOpen && (hasGpc() || choiceOf('ads') === false)) forgetClicks();
  if (now !== 'shut' && host && !isStarted && isPermitted()) startParts(host).catch(() => undefined);
  tellVendors((all) => all.start());
  releaseAll();
  if (isOpen) wake();
};

const onPage = (listener: () => void): void => {
  pageListeners.push(guarded(listener));
  if (!showing) guarded(listener)();
};

/** Starts what the site has beside the tag itself, each where it has any. */
const startParts = async (all: PartHost): Promise<void> => {
  isStarted = true;
  const started: Record<string, Promise<unknown>> = {};
  for (const name of settings.parts ?? []) started[name] = startPart(all, name);
  vendors = started['vendors'] as typeof vendors;
  if (settings.inventory) setTimeout(startPart, INVENTORY_AFTER_MS, all, 'inventory');
  const health = keepDays(mayStore);
  if (health) draft('$tag_health', health);
  // Meta's ids are made there, and the first event is to have them.
  if (all.config.facebook) await vendors;
  strip = (await started['offline']) as typeof strip;
  isReady = true;
  settle();
};

const address = (path: string): string => `${options.base}v1/${path}?key=${options.key}`;

/** The page shows what it did not show before. Of what it says there is more once it is rendered. */
const page = (properties?: Properties): void => {
  turnPage();
  showing = draftOf('$pageview', properties);
  add(showing);
  setTimeout(guarded(shown), RENDERED_MS);
};

/** The page is there as far as it is going to be known: what is read of it is read now. */
const shown = (): void => {
  if (!showing) return;
  const { key_, properties, sent_ } = showing;
  showing = undefined;
  // Of what is stripped already nothing is told anew.
  if (properties['$title'] !== document.title) {
    (sent_?.properties ?? properties)['$title'] = sent_ && isOffline() ? undefined : document.title;
    // What waits already takes its place.
    if (sent_ && waitingHere.has(key_)) addWaiting(key_, sent_);
  }
  for (const listener of pageListeners) listener();
};

/**
 * The page may be gone for good, and with it what waits for the configuration. It goes as bare as an offline site's: nothing
 * in it tells one visitor from another, unless the browser was given an id before.
 */
const leave = (): void => {
  if (host) isReady = true;
  shown();
  if (!hasDnt() && isPermitted()) releaseAll(true);
};

const begin = (): void => {
  store = openStore(`svc.${options.key}`);
  openOutbox(address('ingest'), () => (mayStore() ? store : undefined), leave);
  watchConsent(settle);
  listen(document, 'securitypolicyviolation', (event) => {
    if ((event as SecurityPolicyViolationEvent).blockedURI.startsWith(options.base)) count('blocked');
  });
  askConfig(address('config'))
    .then(configured)
    .catch(() => undefined);
  const presume = (): void => {
    isLate = true;
    // What the configuration asks for is done. To do it again would send a page that is just being rendered.
    if (!host) settle();
  };
  setTimeout(guarded(presume), CONFIG_MS_MAX);
  if (options.pages === 'manual') return;
  page();
  watchPages(page);
  listen(window, 'pageshow', (event) => (event as PageTransitionEvent).persisted && page());
};

const configured = async (answer: SiteConfig | undefined): Promise<void> => {
  const all: PartHost | undefined = answer && {
    ...options,
    address,
    config: answer,
    load: (url) => loadScript(options, url),
    onPage,
    pagesBy,
    track: (event, properties, definition) => void draft(event, properties, '', '', definition),
    ads: allowsAds,
    analytics: mayStore,
    visitor: () => visitor,
    hear,
  };
  if (all && (window as TcfWindow).__tcfapi && !(await startPart<true>(all, 'tcf'))) return;
  config = answer ?? null;
  settings = answer?.tag ?? {};
  host = all;
  settle();
  if (answer) for (const listener of readyListeners.splice(0)) listener();
};

/** The calls a page makes. None throws, and each may be made before the tag knows what the site wants. */
export const api = {
  /** @returns the event's uuid, by which pixels and the edge know it; `given.uuid` is taken where it is stated. */
  track: guarded((event: string, properties?: Properties, given?: { uuid?: string }) =>
    draft(`${event}`, host?.enrich?.(event, properties ?? {}) ?? properties, given?.uuid),
  ),
  /** `identify('customer-1', { email })`, or `identify({ email })` where there is no id. */
  identify: guarded((id?: string | number | Properties, traits?: Properties) =>
    typeof id === 'object' ? draft('$identify', id) : draft('$identify', traits, '', id),
  ),
  /** The visitor is known under that id as well. */
  alias: guarded((id: string) => draft('$create_alias', { alias: id })),
  page: guarded(page),
  consent: guarded((choice: Choice) => {
    say(choice, !isRequired());
    settle();
  }),
  /** The next event is another visitor's. */
  reset: guarded(() => void draft()),
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

/** Starts the tag when the page is shown: one that is made ready beforehand may never be. */
export const start = (given: StartOptions): void => {
  if (options) return;
  options = given;
  // The team's own visit, of which nothing is counted: whoever came from the dashboard chooses an element.
  if (location.hash.includes('svc-pick=')) void startPart(given, 'pick');
  else if ((document as { prerendering?: boolean }).prerendering) listen(document, 'prerenderingchange', begin);
  else attempt(begin);
};
