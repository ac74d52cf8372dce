import { element } from '#services/engage_panels/build_element.ts';
import { PANEL_NAME, type Panel, panelFrame } from '#services/engage_panels/panel_frame.ts';
import type { ShownItem } from '#services/engage_panels/shown_item.ts';
import { appearIn } from './inline_place.ts';

const SAID_MS = 200;
const FIELDS = 'input:not([tabindex],[type=hidden]),textarea,select';

/** Whether an item is on the page. */
export const isOnPage = (name: string): boolean => !!document.querySelector(`${PANEL_NAME}[data-item="${name}"]`);

/** Whether anything is open above the page. */
export const isAbovePage = (): boolean => !!document.querySelector(`${PANEL_NAME}:not([data-place=inline])`);

/**
 * Makes a panel above the page, where it moves nothing, or in an element of the page.
 *
 * @param dismissed the visitor closed it.
 */
export function openPanel(item: ShownItem, mount: Element, dismissed: () => void): Panel {
  const { place, label, show } = item;
  const isInline = place === 'inline';
  const before = document.activeElement as HTMLElement | null;
  const [host, root, box, body] = panelFrame(item, dismissed);
  const isModal = 'showModal' in box;
  if (isInline) box.classList.add('measured');
  const isInside = (): boolean => root.activeElement !== null;

  const onKey = (event: KeyboardEvent): void => {
    const isOurs = isInside() || document.activeElement === document.body;
    if (event.key !== 'Escape' || event.defaultPrevented || !isOurs) return;
    event.preventDefault();
    dismissed();
  };
  if (!isInline) {
    document.addEventListener('keydown', onKey);
    // The browser's own way to close a modal: a phone's back gesture is one.
    box.oncancel = dismissed;
  }
  const status = element('p', { className: 'trap', role: 'status' });
  box.append(status);
  (isInline ? mount : document.body).append(host);

  const focusIn = (): void => {
    const field = body.querySelector<HTMLElement>(FIELDS);
    const target = field ?? (body.firstElementChild as HTMLElement | null);
    if (!field && target) target.tabIndex = -1;
    target?.focus();
  };
  return {
    fill(...content) {
      const hadFocus = isInside();
      // As one, so that all of it is read out where nothing in it takes the focus.
      body.replaceChildren(element('div', { className: 'body' }, ...content));
      if (hadFocus) focusIn();
    },
    appear(seen) {
      if (isInline) {
        appearIn(mount, box, seen);
        return;
      }
      // Above everything that the page itself has put above everything.
      if (isModal) box.showModal();
      else {
        box.popover = 'manual';
        box.showPopover?.();
      }
      // What the visitor asked for takes the focus; what comes by itself is said, once it is listened to.
      if (isModal || show.on === 'click') focusIn();
      else setTimeout(() => status.append(label), SAID_MS);
      seen();
    },
    close() {
      const hadFocus = isInside();
      document.removeEventListener('keydown', onKey);
      host.remove();
      if (hadFocus) before?.focus({ preventScroll: true });
    },
  };
}
