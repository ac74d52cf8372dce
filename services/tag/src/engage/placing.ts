import { attempt, guarded } from '../guarded.ts';
import type { EngageHost } from '../types.ts';
import { uuid7 } from '../uuid7.ts';
import { whenThere } from './appear_when.ts';
import { isRefused } from './circumstances.ts';
import { mayAppear } from './due_items.ts';
import type { KeptShowings, OpenShowing } from './kept_showings.ts';
import { isAbovePage, isOnPage } from './panel.ts';
import { pictureOf } from './promo_panel.ts';
import { type ShowingHost, showItem } from './showing.ts';
import { nameOf, type ShownItem } from './shown_item.ts';

const TRY_AGAIN_MS = 500;

/** Finds items their place on the page. */
export interface Placing {
  /** Shows an item whose moment has come, unless something else is there. */
  fresh(item: ShownItem, signal: AbortSignal): void;
  /** Goes on with what was open when the page was loaded again. */
  resumed(open: OpenShowing, signal: AbortSignal): void;
  /** What is open above the page stays so on the next one of an application. */
  newPage(kept: Pick<KeptShowings, 'mine' | 'keepOpen'>): void;
}

export function createPlacing(host: EngageHost, showingHost: ShowingHost): Placing {
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
  function show(open: OpenShowing, isResumed: boolean, mount: Element, picture: HTMLImageElement | undefined): void {
    wasOpen ||= open.item.place !== 'inline';
    showItem({ open, isResumed, mount, picture }, showingHost);
  }
  function fresh(item: ShownItem, signal: AbortSignal): void {
    void ready(item, signal, (mount, picture) => {
      const isInline = item.place === 'inline';
      const isTaken = isOnPage(nameOf(item)) || (isInline && mount.querySelector('svc-engage'));
      if (signal.aborted || isTaken || isRefused(host)) return;
      // Beside a modal dialog of the page everything can be seen and nothing be used.
      if (!isInline && attempt(() => document.querySelector(':modal'))) {
        setTimeout(fresh, TRY_AGAIN_MS, item, signal);
        return;
      }
      if (!mayAppear(item, { isOpen: isAbovePage(), wasOpen })) return;
      const nowMs = Date.now();
      show({ path: location.pathname, item, id: uuid7(nowMs), shownMs: nowMs }, false, mount, picture);
    });
  }
  return {
    fresh,
    resumed(open, signal) {
      void ready(open.item, signal, (mount, picture) => show({ ...open, isLeft: false }, true, mount, picture));
    },
    newPage(kept) {
      wasOpen = isAbovePage();
      for (const open of kept.mine())
        if (isOnPage(nameOf(open.item))) kept.keepOpen(open.id, { ...open, path: location.pathname });
    },
  };
}
