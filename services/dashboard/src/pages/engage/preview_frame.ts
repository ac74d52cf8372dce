import { element } from '#services/engage_panels/build_element.ts';
import { showForm } from '#services/engage_panels/form_panel.ts';
import { type Panel, panelFrame } from '#services/engage_panels/panel_frame.ts';
import { showPromo } from '#services/engage_panels/promo_panel.ts';
import type { ShownItem } from '#services/engage_panels/shown_item.ts';
import { showSurvey } from '#services/engage_panels/survey_panel.ts';

/** The panel stays within the preview, which is its page. */
const WITHIN =
  '.panel{max-height:calc(100% - 32px)}.popover,.modal{width:min(var(--svc-width),100% - 32px)}.modal{height:fit-content}';
/** Stands for a picture: the dashboard's policy loads none of another host. */
const PICTURE = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="320"><rect width="640" height="320" fill="#c9ced6"/><path d="M60 280l150-150 90 90 70-70 210 130z" fill="#868e99"/></svg>',
)}`;

/**
 * Draws an item in an element of the dashboard by the tag's own code. Texts stay texts, links lead nowhere and nothing is
 * sent; a shadow root keeps its styles from the dashboard's.
 *
 * @param at Place of the question that a survey begins with.
 * @param closed It was closed, or came to its end without a word.
 */
export function drawPreview(pane: HTMLElement, item: ShownItem, at: number, closed: () => void): void {
  const [host, root, box, body] = panelFrame(item, closed);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(WITHIN);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  if ('showModal' in box) box.setAttribute('open', '');
  for (const type of ['click', 'auxclick']) root.addEventListener(type, stayHere, true);
  const panel: Panel = {
    fill: (...content) => body.replaceChildren(element('div', { className: 'body' }, ...content)),
    appear: () => undefined,
    close: closed,
  };
  fillIn(panel, item, at, closed);
  pane.replaceChildren(host);
}

function stayHere(event: Event): void {
  if (event.target instanceof Element && event.target.closest('a') !== null) event.preventDefault();
}

function fillIn(panel: Panel, item: ShownItem, at: number, closed: () => void): void {
  const { words } = item;
  if (item.kind === 'survey') {
    showSurvey(panel, item.content, words, { at, answers: {} }, () => undefined, closed);
  } else if (item.kind === 'promo') {
    const { image_url: address, image_alt: alt } = item.content;
    const picture = address === '' ? undefined : element('img', { alt, src: PICTURE });
    showPromo(panel, item.content, picture, words, () => undefined);
  } else showForm(panel, item.content, words, (_filled, settled) => settled('taken', item.content.message));
}
