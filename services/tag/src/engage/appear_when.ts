import type { Show } from '#services/engage_panels/shown_item.ts';
import { attempt, guarded } from '../guarded.ts';

/** Hears the names of the page's events. */
export type Hears = (listener: (event: string) => void) => void;

function scrolledPercent(): number {
  const { scrollTop, clientHeight, scrollHeight } = document.documentElement;
  return (100 * (scrollTop + clientHeight)) / scrollHeight;
}

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
export function whenThere(selector: string, signal: AbortSignal, found: (element: Element) => void): void {
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
