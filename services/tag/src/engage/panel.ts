import { element } from './build_element.ts';
import { appearIn } from './inline_place.ts';
import { sheetFor } from './panel_style.ts';
import { nameOf, type ShownItem } from './shown_item.ts';

/** Where an item is shown. */
export interface Panel {
  /** Shows this in the place of what was shown. The focus goes to what can be filled in, where it was in the panel. */
  fill(...content: (Node | string | false)[]): void;
  /** Appears with what it was filled with. */
  appear(seen: () => void): void;
  close(): void;
}

const NAME = 'svc-engage';
const SAID_MS = 200;
const FIELDS = 'input:not([tabindex],[type=hidden]),textarea,select';

/** Whether an item is on the page. */
export const isOnPage = (name: string): boolean => !!document.querySelector(`${NAME}[data-item="${name}"]`);

/** Whether anything is open above the page. */
export const isAbovePage = (): boolean => !!document.querySelector(`${NAME}:not([data-place=inline])`);

function makeHost(item: ShownItem): { host: HTMLElement; root: ShadowRoot } {
  const { locale: lang, dir, theme, place } = item;
  const host = Object.assign(document.createElement(NAME), { lang, dir });
  // What is in it is no matter of the inventory and of definitions.
  Object.assign(host.dataset, { svcPrivate: '', item: nameOf(item), place });
  const root = host.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [sheetFor(theme)];
  return { host, root };
}

/**
 * Makes a panel above the page, where it moves nothing, or in an element of the page.
 *
 * @param dismissed the visitor closed it.
 */
export function openPanel(item: ShownItem, mount: Element, dismissed: () => void): Panel {
  const { place, words, label, show } = item;
  const isInline = place === 'inline';
  const before = document.activeElement as HTMLElement | null;
  const { host, root } = makeHost(item);
  const body = element('div');
  const isModal = place === 'modal';
  const box = element(isModal ? 'dialog' : 'div', { className: `panel ${place}`, ariaLabel: label }, body);
  if (isInline) box.classList.add('measured');
  if (!isModal) box.setAttribute('role', isInline ? 'region' : 'dialog');
  const isInside = (): boolean => root.activeElement !== null;

  const onKey = (event: KeyboardEvent): void => {
    const isOurs = isInside() || document.activeElement === document.body;
    if (event.key !== 'Escape' || event.defaultPrevented || !isOurs) return;
    event.preventDefault();
    dismissed();
  };
  if (!isInline) {
    box.append(element('button', { className: 'close', ariaLabel: words.close, onclick: dismissed }, '×'));
    document.addEventListener('keydown', onKey);
    // The browser's own way to close a modal: a phone's back gesture is one.
    box.oncancel = dismissed;
  }
  const status = element('p', { className: 'trap', role: 'status' });
  box.append(status);
  root.append(box);
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
      if ('showModal' in box) box.showModal();
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
