import { masked } from './masked.ts';
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

/** What visitors have typed on the page up to now, as it would stand in a text or in an address. */
function typedTexts(): string[] {
  const texts = [...document.querySelectorAll<HTMLInputElement>(TYPED_INTO)].map((field) =>
    (field.value ?? field.textContent ?? '').trim().toLowerCase(),
  );
  return texts.filter((text) => text.length > 2).flatMap((text) => [text, encodeURIComponent(text).toLowerCase()]);
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
  return masked(words || element.getAttribute('placeholder') || element.getAttribute('title') || '').slice(
    0,
    TEXT_CHARACTERS_MAX,
  );
}

/** An address without its query and fragment, in which a visitor's own words may be. */
const addressOf = ({ origin, pathname }: Pick<URL, 'origin' | 'pathname'>): string => masked(origin + pathname);

function describe(element: Element): InventoryElement {
  const hint = element.getAttribute('data-svc');
  const isLink = element instanceof HTMLAnchorElement && element.protocol.startsWith('http');
  return {
    type: typeOf(element),
    selector: selectorOf(element),
    text: nameOf(element),
    ...(isLink ? { href: addressOf(element) } : {}),
    ...(hint ? { event_hint: hint } : {}),
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

  function look(ofRound: number, elements: Element[], found: Map<string, InventoryElement>): void {
    if (ofRound !== round) return;
    const typed = typedTexts();
    const isTyped = (text: string): boolean => typed.some((one) => text.toLowerCase().includes(one));
    const until = performance.now() + SLICE_MS;
    while (elements[0] && found.size < ELEMENTS_MAX && performance.now() < until) {
      const described = describe(elements.shift() as Element);
      const text = JSON.stringify(described);
      const isShort = Math.max(described.selector.length, (described.href ?? '').length) < ADDRESS_CHARACTERS_MAX;
      if (isShort && !isTyped(text)) found.set(text, described);
    }
    if (elements[0] && found.size < ELEMENTS_MAX) {
      whenIdle(() => look(ofRound, elements, found));
      return;
    }
    const page = masked(location.pathname);
    const title = masked(document.title);
    const key = page + hashOf([...found.keys()].join());
    if (!found.size || sent.has(key)) return;
    if (sent.size >= PAGES_REMEMBERED_MAX) sent.clear();
    sent.add(key);
    submit({ page, url: addressOf(location), title: isTyped(title) ? '' : title, elements: [...found.values()] });
  }

  onPage(() => {
    const ofRound = ++round;
    setTimeout(() => whenIdle(() => look(ofRound, [...document.querySelectorAll(LISTED)], new Map())), AFTER_MS);
  });
}
