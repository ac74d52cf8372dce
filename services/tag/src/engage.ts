import { nameOf, type ShownItem } from '#services/engage_panels/shown_item.ts';
import { appearWhen, countryOf, createPlacing, deviceOf, localeOf } from './engage/placing.ts';
import {
  type KeptShowings,
  openKept,
  openReports,
  type Post,
  type Reports,
  withDone,
  withShown,
} from './engage/reports.ts';
import { isOnPage, type ShowingHost } from './engage/widget.ts';
import { VISITOR_COOKIE, VISITOR_S } from './limits.ts';
import { resolveBatch } from './own_script.ts';
import { attempt, guarded, listen } from './page.ts';
import { covered } from './redact.ts';
import { ask } from './requests.ts';
import { readCookie, writeCookie } from './storage.ts';
import type { EngageHost, PartHost } from './types.ts';
import { sessionOf, uuid7 } from './visitor.ts';

const isReload = (): boolean =>
  (performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming | undefined)?.type === 'reload';

const TITLE_CHARACTERS_MAX = 1000;
const ADDRESS_CHARACTERS_MAX = 4096;

const ASK_AGAIN_MS = 60_000;

/** Whether the visitor refuses to be measured: then nothing is shown, kept or sent. A site in offline mode keeps nothing ever. */
const isRefused = ({ config, analytics }: EngageHost): boolean => config.mode !== 'offline' && !analytics();

/** A channel to the other tabs. What they keep in the browser is there a moment after what they say. */
const channel = (name: string, heard: (message: MessageEvent) => void): BroadcastChannel | undefined =>
  attempt(() =>
    Object.assign(new BroadcastChannel(name), {
      onmessage: (message: MessageEvent) => setTimeout(guarded(heard), 99, message),
    }),
  );
const TRY_AGAIN_MS = 200;
const TRIES = 50;

/** Asks on each page what of the site's surveys, promos and forms is shown there, and shows it. */
const startShowing = (host: PartHost): void => whenAllowed(host, () => showAll(host));

resolveBatch(startShowing);

interface EngageAnswer {
  items: ShownItem[];
  /** What is open and not for this page. */
  over?: string[];
  next_check_ms: number;
}

/** What one visitor is shown, keeps and tells. Of who refuses to be measured, or was before another, nothing goes on. */
interface Turn extends ShowingHost, KeptShowings, Reports {
  post: Post;
  /** What closes each item that is shown, by its name. */
  closers_: Map<string, () => void>;
}

/**
 * @param tellTabs that an item was shown, or with its name that it was answered.
 * @param begin looks anew what is to be shown.
 */
function openTurn(host: PartHost, tellTabs: (done?: string) => void, begin: () => void): Turn {
  const own = visitorOf(host);
  const isTheirs_ = (): boolean => !isRefused(host) && visitorOf(host) === own;
  const kept = openKept(own, isTheirs_);
  // A text needs no preflight.
  const post: Post = (path, body) =>
    isTheirs_() ? ask(host.address(path), { method: 'POST', body, keepalive: true }) : Promise.reject();
  const reports = openReports(kept, post);
  reports.sendWaiting_();
  const closers_: Turn['closers_'] = new Map();
  const note = (withIt: typeof withShown, item: ShownItem): void =>
    kept.note(withIt(kept.seen(), nameOf(item), Date.now()));
  return {
    ...kept,
    ...reports,
    isTheirs_,
    post,
    closers_,
    shown(item) {
      note(withShown, item);
      tellTabs();
    },
    done(item) {
      note(withDone, item);
      // An answer may be heard of when it is another's turn.
      if (isTheirs_()) tellTabs(nameOf(item));
    },
    tell(path, body, ...more) {
      if (!isTheirs_()) begin();
      else reports.send(path, { ...body, ...circumstancesOf(host), timestamp: new Date().toISOString() }, ...more);
    },
    opened: (item, close) => void closers_.set(nameOf(item), close),
    closed(item) {
      closers_.delete(nameOf(item));
      // What a click opens may be opened again, under another token.
      if (item.show.on === 'click') begin();
    },
  };
}

function showAll(host: PartHost): void {
  let page = new AbortController();
  let listeners: ((event: string) => void)[] = [];
  /** By the clock that nobody sets. */
  let askAgainAtMs = 0;
  // What another tab has just shown may be one too many here, and what was answered there is not to be asked here.
  const tabs = channel('svc_e', ({ data }) => {
    turn.closers_.get(data as string)?.();
    begin();
  });
  const newTurn = (): Turn => openTurn(host, (done) => tabs?.postMessage(done), begin);
  let turn = newTurn();
  const place = createPlacing();
  async function look(signal: AbortSignal): Promise<void> {
    askAgainAtMs = performance.now() + ASK_AGAIN_MS;
    const now = turn;
    const open = [...now.closers_.keys()].filter(isOnPage);
    const answer = await now.post('engage', JSON.stringify({ ...circumstancesOf(host), open, seen: now.seen() }));
    if (answer.status !== 200) return;
    const { items, over = [], next_check_ms } = (await answer.json()) as EngageAnswer;
    if (signal.aborted) return;
    askAgainAtMs = performance.now() + next_check_ms;
    for (const name of over) now.closers_.get(name)?.();
    if (over[0]) place.newPage_(now);
    const hear = (one: (event: string) => void) => listeners.push(one);
    for (const item of items) appearWhen(item.show, hear, signal, () => place.fresh(item, signal, now));
  }
  /** What was to appear on the page before, or to the visitor before, does so no more. */
  function begin(isAnothers = !turn.isTheirs_()): void {
    const { closers_ } = turn;
    if (isAnothers) {
      turn = newTurn();
      for (const close of closers_.values()) close();
    }
    page.abort();
    page = new AbortController();
    listeners = [];
    askAgainAtMs = 0;
    // Where nothing comes, nothing is shown; the next page asks again. A page that is hidden asks when it is seen.
    if (!document.hidden) look(page.signal).catch(() => undefined);
  }
  hearEvents(host, (event) => {
    for (const listener of listeners) listener(event);
  });
  host.onPage(() => {
    place.newPage_(turn);
    begin();
  });
  if (isReload()) {
    for (const one of turn.open()) if (one.path === location.pathname) place.resumed(one, page.signal, turn);
  }
  listen(window, 'online', () => turn.sendWaiting_());
  // A page that comes back goes on with what it had open.
  for (const type of ['pagehide', 'pageshow'])
    listen(window, type, () => {
      for (const one of turn.mine()) turn.keepOpen_(one.id, { ...one, isLeft: type === 'pagehide' });
    });
  // What is chosen on this page or in another tab the tag says on a channel of its own, and nothing for a reset.
  channel('svc', ({ data }) => {
    if (!turn.isTheirs_() || !data) begin(true);
  });
  listen(document, 'visibilitychange', () => {
    if (!turn.isTheirs_() || (!document.hidden && performance.now() > askAgainAtMs)) begin();
  });
}

/** The tag starts its parts where that is allowed, and may still wait for another of them. */
function whenAllowed(host: PartHost, start: () => void, triesLeft = TRIES): void {
  if (triesLeft > 0 && isRefused(host)) setTimeout(whenAllowed, TRY_AGAIN_MS, host, start, triesLeft - 1);
  else guarded(start)();
}

/** The page without what tells one visitor from another: of its query no more than the campaign, as redact.ts has it. */
function anonymousPage(): { url: string; referrer: string } {
  const campaign = covered(location.search.replace(/[?&](?!utm_)[^&]*/g, '')).replace(/^&/, '?');
  return {
    url: location.origin + covered(location.pathname) + campaign,
    referrer: document.referrer && new URL(document.referrer).origin,
  };
}

/**
 * The visitor's id, where the tag may keep one: its own (visitor.ts), or one that it takes over, where nothing was
 * measured yet. Undefined also where cookies are refused.
 */
function visitorOf({ analytics }: EngageHost): string | undefined {
  if (!analytics()) return undefined;
  if (!readCookie(VISITOR_COOKIE)) writeCookie(VISITOR_COOKIE, uuid7(Date.now()), VISITOR_S);
  return readCookie(VISITOR_COOKIE) || undefined;
}

/** Who looks at which page, as every route of surveys, promos and forms takes it. */
function circumstancesOf(host: EngageHost): { page: object; visitor: object } {
  const isOffline = host.config.mode === 'offline';
  const page = isOffline ? anonymousPage() : { url: location.href, referrer: document.referrer };
  const { width, height } = screen;
  const session = readCookie('svc_sid');
  return {
    page: {
      url: page.url.slice(0, ADDRESS_CHARACTERS_MAX),
      referrer: page.referrer.slice(0, ADDRESS_CHARACTERS_MAX),
      title: document.title.slice(0, TITLE_CHARACTERS_MAX),
    },
    visitor: {
      ...(!isOffline && {
        distinct_id: visitorOf(host),
        session_id: session ? sessionOf(session) : undefined,
        consent: { analytics: host.analytics(), ads: host.ads() },
      }),
      locale: localeOf(document.documentElement.lang, navigator.language),
      country: countryOf(navigator.language),
      device: deviceOf(matchMedia('(pointer:coarse)').matches, Math.min(width, height)),
    },
  };
}

/** Hears the names of the events that the page itself tracks and that definitions fire: both go through the host. */
function hearEvents(host: EngageHost, heard: (event: string) => void): void {
  let { enrich } = host;
  const { track } = host;
  host.track = (event, ...more) => {
    heard(event);
    track(event, ...more);
  };
  Object.defineProperty(host, 'enrich', {
    get: (): EngageHost['enrich'] => (event, properties) => {
      heard(event);
      return enrich?.(event, properties) ?? properties;
    },
    // The definitions may come later.
    set(given: EngageHost['enrich']) {
      enrich = given;
    },
  });
}
