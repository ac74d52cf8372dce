// When and where an item may appear: its trigger, the visitor's device and language, and its turn.
import { pictureOf } from '#services/engage_panels/panels.ts';
import { nameOf, type Show, type ShownItem } from '#services/engage_panels/shown_item.ts';
import { attempt, guarded, scrolledPercent } from '../page.ts';
import { uuid7 } from '../visitor.ts';
import type { KeptShowings, OpenShowing } from './reports.ts';
import { isAbovePage, isOnPage, type ShowingHost, showItem, type ToShow } from './widget.ts';

const TRY_AGAIN_MS = 500;

/** Finds items their place on the page, where it is still the turn of the visitor whom they are for. */
interface Placing {
  /** Shows an item whose moment has come, unless something else is there. */
  fresh(item: ShownItem, signal: AbortSignal, host: ShowingHost): void;
  /** Goes on with what was open when the page was loaded again. */
  resumed(open: OpenShowing, signal: AbortSignal, host: ShowingHost): void;
  /** What is open above the page stays so on the next one of an application. */
  newPage_(kept: Pick<KeptShowings, 'mine' | 'keepOpen_'>): void;
}

export function createPlacing(): Placing {
  let wasOpen = false;

  /** Calls it with the element that an item appears in, and its picture. */
  async function ready(
    item: ShownItem,
    signal: AbortSignal,
    use: (mount: Element, picture: HTMLImageElement | undefined) => void,
  ): Promise<void> {
    const picture = item.kind === 'promo' ? await pictureOf(item.content) : undefined;
    const run = guarded((mount: Element) => use(mount, picture));
    if (item.place === 'inline') whenThere(item.mount, signal, run);
    else run(document.body);
  }
  function show(what: ToShow, host: ShowingHost): void {
    if (!host.isTheirs_()) return;
    wasOpen ||= what.open.item.place !== 'inline';
    showItem(what, host);
  }
  function fresh(item: ShownItem, signal: AbortSignal, host: ShowingHost): void {
    void ready(item, signal, (mount, picture) => {
      const isInline = item.place === 'inline';
      const isTaken = isOnPage(nameOf(item)) || (isInline && mount.querySelector('svc-engage'));
      if (signal.aborted || isTaken) return;
      // Beside a modal dialog of the page everything can be seen and nothing be used.
      if (!isInline && attempt(() => document.querySelector(':modal'))) {
        setTimeout(fresh, TRY_AGAIN_MS, item, signal, host);
        return;
      }
      if (!mayAppear(item, { isOpen: isAbovePage(), wasOpen })) return;
      const nowMs = Date.now();
      const open = { path: location.pathname, item, id: uuid7(nowMs), shownMs: nowMs };
      show({ open, mount, picture }, host);
    });
  }
  return {
    fresh,
    resumed(left, signal, host) {
      const open = { ...left, isLeft: false };
      void ready(open.item, signal, (mount, picture) => show({ open, isResumed_: true, mount, picture }, host));
    },
    newPage_(kept) {
      wasOpen = isAbovePage();
      for (const open of kept.mine())
        if (isOnPage(nameOf(open.item))) kept.keepOpen_(open.id, { ...open, path: location.pathname });
    },
  };
}

/** Hears the names of the page's events. */
type Hears = (listener: (event: string) => void) => void;

const isIn = (selector: string, path: readonly EventTarget[]): boolean =>
  path.some((node) => node instanceof Element && attempt(() => node.matches(selector)));

/** Calls `appear` once, when what a definition waits for has happened and its time has gone by, unless the page is left before. */
export function appearWhen(show: Show, hears: Hears, signal: AbortSignal, appear: () => void): void {
  let hasHappened = false;
  const happened = (isIt: unknown): void => {
    if (!isIt || hasHappened) return;
    hasHappened = true;
    setTimeout(() => signal.aborted || guarded(appear)(), show.after_ms);
  };
  const listen = (type: string, isIt: (event: Event) => unknown): void => {
    const options = { capture: true, passive: true, signal };
    document.addEventListener(
      type,
      guarded((event) => happened(isIt(event))),
      options,
    );
  };
  const isSeen = (): boolean => scrolledPercent() >= show.scroll_percent;
  if (show.on === 'load') happened(true);
  if (show.on === 'click') listen('click', (event) => isIn(show.selector, event.composedPath()));
  // The pointer leaves the page at its top, where the address and the tabs are.
  if (show.on === 'exit') listen('mouseout', (event) => isLeaving(event as MouseEvent));
  if (show.on === 'event') hears((name) => happened(name === show.event));
  if (show.on === 'scroll') {
    happened(isSeen());
    listen('scroll', isSeen);
  }
}

const isLeaving = ({ relatedTarget, clientY }: MouseEvent): boolean => !relatedTarget && clientY <= 0;

/** Calls it with the element when the page has it. A malformed selector never finds any. */
function whenThere(selector: string, signal: AbortSignal, found: (element: Element) => void): void {
  const look = (): boolean => {
    const element = attempt(() => document.querySelector(selector));
    if (element) found(element);
    return Boolean(element);
  };
  if (look()) return;
  const changes = new MutationObserver(guarded(() => look() && changes.disconnect()));
  changes.observe(document, { childList: true, subtree: true });
  signal.addEventListener('abort', () => changes.disconnect());
}

/**
 * Whether an item may appear now. Above the page is one at a time, and one on a page, unless the visitor asks for it by a
 * click.
 */
export function mayAppear(
  { place, show }: Pick<ShownItem, 'place' | 'show'>,
  above: { isOpen: boolean; wasOpen: boolean },
): boolean {
  return place === 'inline' || (!above.isOpen && (show.on === 'click' || !above.wasOpen));
}

/** Up to here a screen's shorter side is a phone's, in CSS pixels. */
const PHONE_PIXELS_MAX = 600;

const languageIn = (tag: string): string => tag.split('-')[0]?.toLowerCase() ?? '';

/**
 * The language that a visitor is shown: that of the page, which they read, with the region of the browser's where that
 * speaks the same; the browser's where the page says none.
 */
export function localeOf(page: string, browser: string): string {
  if (!/^[a-z]{2,3}(-|$)/i.test(page)) return browser;
  return page.includes('-') || languageIn(page) !== languageIn(browser) ? page : browser;
}

/** The region that the browser's language names; undefined: none. */
export const countryOf = (browser: string): string | undefined => /-([A-Z]{2})\b/.exec(browser)?.[1];

/** @param shorterSide of the screen, in CSS pixels. */
export function deviceOf(isTouched: boolean, shorterSide: number): 'mobile' | 'tablet' | 'desktop' {
  if (!isTouched) return 'desktop';
  return shorterSide < PHONE_PIXELS_MAX ? 'mobile' : 'tablet';
}
