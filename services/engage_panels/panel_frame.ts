import { element } from './build_element.ts';
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

export const PANEL_NAME = 'svc-engage';

/** What a panel is made of: its element in the page, the box that is seen, and what of it is filled. */
type PanelFrame = [host: HTMLElement, root: ShadowRoot, box: HTMLDivElement | HTMLDialogElement, body: HTMLElement];

/** Makes the elements of an item's panel, empty. @param dismissed its button to close it was pressed; an inline one has none. */
export function panelFrame(item: ShownItem, dismissed: () => void): PanelFrame {
  const { locale: lang, dir, theme, place, words, label } = item;
  const host = Object.assign(document.createElement(PANEL_NAME), { lang, dir });
  // What is in it is no matter of the inventory and of definitions.
  Object.assign(host.dataset, { svcPrivate: '', item: nameOf(item), place });
  const root = host.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [sheetFor(theme)];
  const isInline = place === 'inline';
  const body = element('div');
  const role = isInline ? 'region' : 'dialog';
  const box = element(
    place === 'modal' ? 'dialog' : 'div',
    { className: `panel ${place}`, role, ariaLabel: label },
    body,
  );
  if (!isInline) box.append(element('button', { className: 'close', ariaLabel: words.close, onclick: dismissed }, '×'));
  root.append(box);
  return [host, root, box, body];
}
