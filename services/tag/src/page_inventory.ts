import { attempt, guarded } from './guarded.ts';
import { masked, squeezed } from './masked.ts';
import { textOf } from './page_text.ts';
import { selectorOf } from './selectors.ts';
import type { InventoryElement, InventoryHost } from './types.ts';

const ELEMENTS_MAX = 300;
const TEXT_CHARACTERS_MAX = 80;
const ADDRESS_CHARACTERS_MAX = 2000;
const PAGES_REMEMBERED_MAX = 50;
const AFTER_MS = 1000;
const SLICE_MS = 8;

const LISTED = 'a[href],button,form,input:not([type=hidden],[type=password]),select,textarea,[role=button],[data-svc]';
const BUTTON = 'button,[role=button],[type=submit],[type=button],[type=reset],[type=image]';
const TYPED_INTO =
  'input:not([type=submit],[type=button],[type=reset],[type=image],[type=hidden],[type=checkbox],[type=radio]),textarea,[contenteditable]';

/** A text as it would be typed: without what an address, a selector or JSON does to its characters. */
const plain = (text: string): string =>
  squeezed(
    text
      .replace(/(%[\da-f]{2})+/gi, (run) => attempt(() => decodeURIComponent(run)) ?? run)
      .replace(/\\/g, '')
      .replace(/\+/g, ' '),
  ).toLowerCase();

/** What visitors have typed on the page up to now. */
function typedTexts(): string[] {
  const fields = [...document.querySelectorAll<HTMLInputElement>(TYPED_INTO)];
  return fields.map((field) => plain(field.value ?? field.textContent ?? '')).filter((text) => text.length > 2);
}

const typeOf = (element: Element): string =>
  element.matches(BUTTON)
    ? 'button'
    : ({ a: 'link', form: 'form', input: 'input', select: 'input', textarea: 'input' }[element.localName] ?? 'element');

/** What an element is called: by its label where it is one to fill in, else by what stands in it. */
function nameOf(element: Element): string {
  const label = (element as Partial<HTMLInputElement>).labels?.[0];
  const words =
    element.getAttribute('aria-label') ??
    (label ? textOf(label) : element.localName === 'form' ? '' : textOf(element)) ??
    '';
  return words || element.getAttribute('placeholder') || element.getAttribute('title') || '';
}

/** An address without its query and fragment, in which a visitor's own words may be. */
const addressOf = ({ origin, pathname }: Pick<URL, 'origin' | 'pathname'>): string => masked(origin + pathname);

/** @returns undefined for one of which something repeats what is typed, or whose addresses are too long. */
function describe(
  element: Element,
  isTyped: (text: string) => boolean,
  read: (element: Element) => string,
): InventoryElement | undefined {
  const hint = element.getAttribute('data-svc');
  const isLink = element instanceof HTMLAnchorElement && element.protocol.startsWith('http');
  const name = nameOf(element);
  const selector = selectorOf(element, read);
  const href = isLink ? addressOf(element) : '';
  if (Math.max(selector.length, href.length) >= ADDRESS_CHARACTERS_MAX) return undefined;
  if ([name, selector, isLink ? element.pathname : '', hint ?? ''].some(isTyped)) return undefined;
  return {
    type: typeOf(element),
    selector,
    text: masked(name).slice(0, TEXT_CHARACTERS_MAX),
    ...(isLink ? { href } : {}),
    ...(hint ? { event_hint: hint } : {}),
  };
}

/** Texts of elements, each read once. */
function reader(): (element: Element) => string {
  const texts = new Map<Element, string>();
  return (element) => {
    const text = texts.get(element) ?? textOf(element);
    texts.set(element, text);
    return text;
  };
}

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return hash;
}

/**
 * Looks over each page that is shown, in slices when the browser is idle, and submits what definitions could be made of:
 * once a page and content. Whatever repeats something that is typed into a field of the page is left out.
 */
export function startInventory({ submit, onPage }: InventoryHost): void {
  const sent = new Set<string>();
  const whenIdle = window.requestIdleCallback ?? setTimeout;
  let round = 0;

  function look(
    ofRound: number,
    elements: Element[],
    found: Map<string, InventoryElement>,
    read: (element: Element) => string,
  ): void {
    if (ofRound !== round) return;
    const typed = typedTexts();
    const isTyped = (text: string): boolean => typed.some((one) => plain(text).includes(one));
    const part = (text: string): string => (isTyped(text) ? '***' : text);
    const until = performance.now() + SLICE_MS;
    while (elements[0] && found.size < ELEMENTS_MAX && performance.now() < until) {
      const element = elements.shift() as Element;
      // A form whose fields have the names of what is read of it, say, is left out; the others are told.
      const described = attempt(() => describe(element, isTyped, read));
      if (described) found.set(JSON.stringify(described), described);
    }
    if (elements[0] && found.size < ELEMENTS_MAX) {
      whenIdle(guarded(() => look(ofRound, elements, found, read)));
      return;
    }
    const parts = location.pathname.split('/').map(part).join('/');
    // What was typed may hold a slash too.
    const page = isTyped(parts) ? '/***' : masked(parts);
    const key = page + hashOf([...found.keys()].join());
    if (!found.size || sent.has(key)) return;
    if (sent.size >= PAGES_REMEMBERED_MAX) sent.clear();
    sent.add(key);
    const title = isTyped(document.title) ? '' : masked(document.title);
    submit({ page, url: location.origin + page, title, elements: [...found.values()] });
  }

  onPage(() => {
    const ofRound = ++round;
    const begin = guarded(() => look(ofRound, [...document.querySelectorAll(LISTED)], new Map(), reader()));
    setTimeout(
      guarded(() => whenIdle(begin)),
      AFTER_MS,
    );
  });
}
