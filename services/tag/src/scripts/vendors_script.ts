import { CLICK_S, VISITOR_COOKIE, VISITOR_S } from '../limits.ts';
import { resolveBatch } from '../own_script.ts';
import { ask } from '../requests.ts';
import { readCookie, writeCookie } from '../storage.ts';
import type { PartHost, SiteConfig, VendorEvent, Vendors, VendorsHost } from '../types.ts';
import {
  ga4Parameters,
  mappedEventName,
  nameRule,
  pixelOf,
  pixelParameters,
  type VendorNames,
  vendorNames,
} from '../vendor_events.ts';

const page = window as VendorWindow;
const GOOGLE = 'https://www.googletagmanager.com/';

const TTQ_METHODS = ['page', 'track', 'identify', 'grantConsent', 'revokeConsent'];

/** Where an event happened: it may have waited while the visitor went on. */
const pageOf = ({ $current_url }: VendorEvent['properties']): URL =>
  new URL(typeof $current_url === 'string' ? $current_url : location.href);

resolveBatch((host: PartHost) => {
  if (host.config.facebook) host.makeAdIds = makeMetaIds;
  const all = createVendors(host.config, host);
  let isRenewed = false;
  return {
    ...all,
    // The page may wait for this part before anything is measured, so that only then it is known whether anything is.
    start() {
      if (!isRenewed && host.analytics()) {
        isRenewed = true;
        renewVisitor(host);
      }
      all.start();
    },
  };
});

/** One platform on the page, once it is loaded. */
interface Vendor {
  send?(event: VendorEvent, name: string, names: VendorNames): void;
  /** Told when the visitor's choice is looked at again. */
  consent?(isGiven: boolean): void;
}
/** By the destination's name, as in a definition's `destinations`. */
type Starters = [destination: string, isAllowed: () => boolean, start: (() => Vendor) | null][];

function startMeta(facebook: NonNullable<SiteConfig['facebook']>, load: () => void): Vendor {
  if (!page.fbq) {
    page.fbq = fbqStub();
    page._fbq ??= page.fbq;
    load();
  }
  const known = new Set<string>();
  return {
    send({ uuid, properties }, name, { meta }) {
      const pixel = pixelOf(facebook, pageOf(properties));
      if (!known.has(pixel)) page.fbq?.('init', pixel);
      known.add(pixel);
      const data = pixelParameters(properties, 'id', 'item_price');
      page.fbq?.(meta ? 'trackSingle' : 'trackSingleCustom', pixel, meta ?? name, data, { eventID: uuid });
    },
    consent: (isGiven) => page.fbq?.('consent', isGiven ? 'grant' : 'revoke'),
  };
}

/** A page that has TikTok's own snippet loads our pixel beside its own, by that. */
function startTiktok(code: string, source: string, load: () => void): Vendor {
  if (!page.ttq) {
    page.TiktokAnalyticsObject = 'ttq';
    page.ttq = ttqStub(code, source);
    load();
  } else if (!page.ttq._i?.[code]) page.ttq['load']?.(code);
  return {
    send({ uuid, properties }, name, { tiktok }) {
      const pixel = page.ttq?.instance?.(code) ?? page.ttq;
      pixel?.['track']?.(tiktok ?? name, pixelParameters(properties, 'content_id', 'price'), { event_id: uuid });
    },
    consent: (isGiven) => page.ttq?.[isGiven ? 'grantConsent' : 'revokeConsent']?.(),
  };
}

function startGa4(id: string, load: () => void): Vendor {
  const gtag = gtagOf(page);
  gtag('js', new Date());
  // Pages are events of ours too, and go with their event id.
  gtag('config', id, { send_page_view: false });
  load();
  return {
    send({ uuid, properties }, name, { ga4 }) {
      const event = (ga4 ?? name).replace(/\W+/g, '_');
      gtag('event', event, { ...ga4Parameters(properties, uuid), send_to: id });
    },
  };
}

function startGtm(load: () => void): Vendor {
  const layer = layerOf(page);
  layer.push({ 'gtm.start': Date.now(), event: 'gtm.js' });
  load();
  return {
    send({ uuid, properties }, name, { ga4 }) {
      layer.push({ ...ga4Parameters(properties, uuid), event: `svc.${ga4 ?? name}` });
    },
  };
}

function startClarity(load: () => void): Vendor {
  if (!page.clarity) {
    page.clarity = clarityStub();
    load();
  }
  return { consent: (isGiven) => page.clarity?.('consent', isGiven) };
}

/**
 * The platforms that a site has configured: Meta and TikTok with consent to advertising, GA4 and Clarity with consent to
 * measuring, GTM with either, after Google's consent mode is told which. Each of our events goes to all of them under its
 * uuid as event id, by the name that the site chose for it or else their own, unless the definitions of its name switch the destination off.
 */
function createVendors(config: SiteConfig, host: VendorsHost): Vendors {
  const { facebook, tiktok, ga4, gtm, clarity } = config;
  const loader = config.custom_loader ? config.tag?.loader : null;
  const load = (path: string, direct: string) => () => host.load(loader ? loader.base + loader.prefix + path : direct);
  const either = () => host.ads() || host.analytics();
  const ttSource = 'https://analytics.tiktok.com/i18n/pixel/events.js';
  const starters: Starters = [
    [
      'meta',
      host.ads,
      facebook && (() => startMeta(facebook, load('/sp.js', 'https://connect.facebook.net/en_US/fbevents.js'))),
    ],
    [
      'tiktok',
      host.ads,
      tiktok &&
        (() =>
          startTiktok(tiktok.pixel_code, ttSource, load('/tt.js', `${ttSource}?sdkid=${tiktok.pixel_code}&lib=ttq`))),
    ],
    [
      'ga4',
      host.analytics,
      ga4 && (() => startGa4(ga4.measurement_id, load('/sg.js', `${GOOGLE}gtag/js?id=${ga4.measurement_id}`))),
    ],
    ['gtm', either, gtm && (() => startGtm(load('/sx.js', `${GOOGLE}gtm.js?id=${gtm.container_id}`)))],
    [
      'clarity',
      host.analytics,
      clarity && (() => startClarity(() => host.load(`https://www.clarity.ms/tag/${clarity.project_id}`))),
    ],
  ];
  const started = new Map<string, Vendor>();
  let isConsentOurs: boolean | undefined;

  /** Google's consent mode, unless the page's own banner speaks to it: before its scripts come, and of each change after. */
  function tellGoogle(): void {
    const isFirst = isConsentOurs === undefined;
    if (isFirst && !(ga4 && host.analytics()) && !(gtm && either())) return;
    isConsentOurs ??= !layerOf(page).some((entry) => (entry as unknown[] | null | undefined)?.[0] === 'consent');
    const [ads, analytics] = [host.ads(), host.analytics()].map((is) => (is ? 'granted' : 'denied'));
    const choice = { ad_storage: ads, ad_user_data: ads, ad_personalization: ads, analytics_storage: analytics };
    if (isConsentOurs) tellConsent(page, isFirst ? 'default' : 'update', choice);
  }

  return {
    start() {
      tellGoogle();
      for (const [destination, isAllowed, start] of starters) {
        started.get(destination)?.consent?.(isAllowed());
        if (start && isAllowed() && !started.has(destination)) started.set(destination, start());
      }
    },
    event(event) {
      const rule = nameRule(config.events, event.event);
      const names = vendorNames(rule.name);
      for (const [destination, isAllowed] of starters) {
        if (!isAllowed() || !rule.isSent(destination)) continue;
        const vendor = started.get(destination);
        const chosen = mappedEventName(config.tag?.event_names?.[destination], [event.event, rule.name, names.ga4]);
        // To a name that the site chose only Meta asks more: whether it is one of its own.
        if (chosen) vendor?.send?.(event, chosen, { meta: vendorNames(chosen).meta === chosen ? chosen : undefined });
        // The service's own vocabulary means nothing to a platform.
        else if (names.ga4 || !rule.name.startsWith('$')) vendor?.send?.(event, rule.name, names);
      }
    },
  };
}

type Call = (...args: unknown[]) => void;
interface Fbq extends Call {
  callMethod?: Call;
  queue?: unknown[];
}
type Ttq = Record<string, Call> & {
  /** The pixels that are loaded or being loaded, by code. */
  _i?: Record<string, unknown>;
  instance?: (code: string) => Record<string, Call>;
};
interface Clarity extends Call {
  q?: unknown[];
}

/** What the platforms' scripts look for on the page, and take over. */
interface VendorWindow {
  fbq?: Fbq;
  _fbq?: Fbq;
  ttq?: Ttq;
  TiktokAnalyticsObject?: string;
  dataLayer?: unknown[];
  gtag?: Call;
  clarity?: Clarity;
}

/** Meta's queue. Its script is told to report no page by itself, as each of ours goes with its event id. */
function fbqStub(): Call {
  const fbq: Fbq = (...args) => {
    if (fbq.callMethod) fbq.callMethod(...args);
    else fbq.queue?.push(args);
  };
  const told = { loaded: true, version: '2.0', disablePushState: true, allowDuplicatePageViews: true };
  return Object.assign(fbq, { push: fbq, queue: [], ...told });
}

/** TikTok's queue with the methods that its script replaces, for one pixel. */
function ttqStub(code: string, source: string): Ttq {
  const queue: unknown[] = [];
  const methods = TTQ_METHODS.map((name) => [name, (...args: unknown[]) => queue.push([name, ...args])]);
  return Object.assign(queue, Object.fromEntries(methods), {
    methods: TTQ_METHODS,
    _i: { [code]: Object.assign([], { _u: source }) },
    _t: { [code]: Date.now() },
    _o: { [code]: {} },
  });
}

/** Google's queue: it holds `arguments` objects, which its scripts tell from other entries. */
function gtagOf(page: VendorWindow): Call {
  page.gtag ??= function gtag() {
    // biome-ignore lint/complexity/noArguments: Google's scripts pass over arrays.
    layerOf(page).push(arguments);
  };
  return page.gtag;
}

/** A word to Google's consent mode, marked so that the tag does not take it for a banner's (consent.ts). */
function tellConsent(page: VendorWindow, command: 'default' | 'update', choice: object): void {
  const entry = (function argumentsOf(..._words: unknown[]) {
    // biome-ignore lint/complexity/noArguments: Google's scripts pass over arrays.
    return arguments;
  })('consent', command, choice);
  layerOf(page).push(Object.assign(entry, { svc: true }));
}

/** What Google's scripts read, from before they came and after. */
function layerOf(page: VendorWindow): unknown[] {
  page.dataLayer ??= [];
  return page.dataLayer;
}

function clarityStub(): Call {
  const q: unknown[] = [];
  return Object.assign((...args: unknown[]) => q.push(args), { q });
}

/**
 * Makes Meta's browser ids where there are none, in its own form, `fb.1.<milliseconds>.<random or fbclid>`, so that the first
 * page's events carry them already; the pixel takes over what it finds.
 */
function makeMetaIds(click: string | undefined, nowMs: number): void {
  const make = (name: string, id: string): void => writeCookie(name, `fb.1.${nowMs}.${id}`, CLICK_S);
  if (click && !readCookie('_fbc').endsWith(`.${click}`)) make('_fbc', click);
  if (!readCookie('_fbp')) make('_fbp', `${Math.random()}`.slice(2, 12));
}

/**
 * Has the visitor's cookie set by the site's own domain, once a page, after the tag has written it: what a script sets Safari
 * keeps for a week. The answer may come when the visitor has refused or is another, and has put back what was removed.
 */
function renewVisitor({ config, analytics, visitor }: PartHost): void {
  const base = config.tag?.loader?.base;
  if (!base) return;
  const asked = readCookie(VISITOR_COOKIE);
  const before = visitor?.();
  const answered = (): void => {
    const now = visitor?.();
    if (!analytics()) writeCookie(VISITOR_COOKIE, '', 0);
    // Forgotten and nothing measured since, or another visitor by now. A session may begin meanwhile without either.
    else if (now !== before && now !== asked) writeCookie(VISITOR_COOKIE, now ?? '', now ? VISITOR_S : 0);
  };
  // Without CORS nobody may read the answer, and nobody has to.
  ask(`${base}/v1/visitor`, { credentials: 'include', mode: 'no-cors' }).then(answered, () => undefined);
}
