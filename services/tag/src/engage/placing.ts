import { pictureOf } from '#services/engage_panels/promo_panel.ts';
import { nameOf, type ShownItem } from '#services/engage_panels/shown_item.ts';
import { attempt, guarded } from '../guarded.ts';
import { uuid7 } from '../uuid7.ts';
import { whenThere } from './appear_when.ts';
import { mayAppear } from './due_items.ts';
import type { KeptShowings, OpenShowing } from './kept_showings.ts';
import { isAbovePage, isOnPage } from './panel.ts';
import { type ShowingHost, showItem, type ToShow } from './showing.ts';

const TRY_AGAIN_MS = 500;

/** Finds items their place on the page, where it is still the turn of the visitor whom they are for. */
export interface Placing {
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
