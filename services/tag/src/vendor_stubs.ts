export type Call = (...args: unknown[]) => void;
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
export interface VendorWindow {
  fbq?: Fbq;
  _fbq?: Fbq;
  ttq?: Ttq;
  TiktokAnalyticsObject?: string;
  dataLayer?: unknown[];
  gtag?: Call;
  clarity?: Clarity;
}

const TTQ_METHODS = ['page', 'track', 'identify', 'grantConsent', 'revokeConsent'];

/** Meta's queue. Its script is told to report no page by itself, as each of ours goes with its event id. */
export function fbqStub(): Call {
  const fbq: Fbq = (...args) => {
    if (fbq.callMethod) fbq.callMethod(...args);
    else fbq.queue?.push(args);
  };
  const told = { loaded: true, version: '2.0', disablePushState: true, allowDuplicatePageViews: true };
  return Object.assign(fbq, { push: fbq, queue: [], ...told });
}

/** TikTok's queue with the methods that its script replaces, for one pixel. */
export function ttqStub(code: string, source: string): Ttq {
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
export function gtagOf(page: VendorWindow): Call {
  page.gtag ??= function gtag() {
    // biome-ignore lint/complexity/noArguments: Google's scripts pass over arrays.
    layerOf(page).push(arguments);
  };
  return page.gtag;
}

/** A word to Google's consent mode, marked so that the tag does not take it for a banner's (consent_gate.ts). */
export function tellConsent(page: VendorWindow, command: 'default' | 'update', choice: object): void {
  const entry = (function argumentsOf(..._words: unknown[]) {
    // biome-ignore lint/complexity/noArguments: Google's scripts pass over arrays.
    return arguments;
  })('consent', command, choice);
  layerOf(page).push(Object.assign(entry, { svc: true }));
}

/** What Google's scripts read, from before they came and after. */
export function layerOf(page: VendorWindow): unknown[] {
  page.dataLayer ??= [];
  return page.dataLayer;
}

export function clarityStub(): Call {
  const q: unknown[] = [];
  return Object.assign((...args: unknown[]) => q.push(args), { q });
}
