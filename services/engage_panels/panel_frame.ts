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

type Child = Node | string | false;

/** An element with properties and children. No text of it is ever read as HTML. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== false));
  return made;
}

/** A text of its own, where there is one. */
export const textBlock = (name: 'h2' | 'p', textContent: string): HTMLElement | false =>
  textContent !== '' && element(name, { textContent });

const TOKENS =
  ':host{--svc-accent:#1f4fd8;--svc-on_accent:#fff;--svc-background:#fff;--svc-text:#1c1c1e;--svc-border:#767676;--svc-radius:8px;--svc-font_size:16px;--svc-width:360px}';

/*
 * The page's rules end at the shadow root, and what is inherited through it is reset at the host. The tokens are rules of
 * :host, so that a page's own rule for svc-engage goes before them. Nothing moves: there is nothing that a visitor who wants
 * no motion would have to be spared. A button measures 44 px at least. No line break is sent to the browser.
 */
const RULES = `:host{all:initial;display:contents!important}\
*{box-sizing:border-box;font:inherit;color:inherit;margin:0;padding:0}\
.panel,.steps label,input,select,textarea{border:1px solid var(--svc-border);border-radius:var(--svc-radius);min-height:44px}\
.panel{position:fixed;display:flex;flex-direction:column;padding:20px;background:var(--svc-background);color:var(--svc-text);font:var(--svc-font_size)/1.5 system-ui,sans-serif;max-height:calc(100vh - 32px);overflow:auto;z-index:2147483647;width:min(var(--svc-width),100vw - 32px)}\
.popover{inset:auto;inset-block-end:16px;inset-inline-end:16px}\
.banner{inset:auto 0 0;width:auto}\
.modal{inset:0;margin:auto}\
.inline{position:static;width:auto;max-width:var(--svc-width);max-height:none}\
.measured{position:absolute;visibility:hidden}\
.modal::backdrop{background:#0008}\
label:has(:focus-visible),:focus-visible:not(label>*){outline:3px solid var(--svc-accent)}\
h2,legend,b{font-weight:600;padding-inline-end:36px}\
h2{font-size:1.2em}\
p{white-space:pre-line}\
.body,form,fieldset,label{display:grid;gap:12px;border:0;min-width:0}\
label{gap:4px}\
.choice{grid-template-columns:auto 1fr;align-items:center;gap:12px;min-height:44px}\
input,select,textarea{background:#0000;padding:9px;width:100%}\
option{color:#000;background:#fff}\
[type=radio],[type=checkbox]{accent-color:var(--svc-accent);width:22px;min-height:22px}\
button,.button{min-height:44px;min-width:44px;padding:9px 16px;border:0;border-radius:var(--svc-radius);background:var(--svc-accent);color:var(--svc-on_accent);cursor:pointer;justify-self:start;text-decoration:none}\
.close{position:sticky;inset-block-start:-16px;order:-1;align-self:end;margin:-16px -16px -28px;z-index:1;padding:0;background:var(--svc-background);color:inherit}\
.steps{display:grid;grid-template-columns:repeat(auto-fit,minmax(44px,1fr));gap:4px}\
.steps label{position:relative;place-content:center}\
.steps input{position:absolute;inset:0;height:100%;opacity:0;cursor:pointer}\
.steps :has(:checked){background:var(--svc-accent);color:var(--svc-on_accent)}\
.close,.star label{font-size:24px}\
.star label{border-color:#0000;color:var(--svc-border)}\
.star :has(:checked),.star :has(~* :checked){background:#0000;color:var(--svc-accent)}\
.row{display:flex;justify-content:space-between;align-items:center;gap:12px}\
img{max-width:100%;height:auto}\
code{font-family:monospace}\
.trap{position:absolute;inset-inline-start:-9999px}\
@media(forced-colors:active){.steps :has(:checked),.star :has(~* :checked){forced-color-adjust:none;background:Highlight;color:HighlightText}}`;

/** The style of a panel as a sheet that no content security policy forbids, with the definition's tokens. */
function sheetFor(theme: ShownItem['theme']): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(TOKENS + RULES);
  const [tokens] = sheet.cssRules;
  for (const [name, value] of Object.entries(theme)) (tokens as CSSStyleRule).style.setProperty(`--svc-${name}`, value);
  return sheet;
}
