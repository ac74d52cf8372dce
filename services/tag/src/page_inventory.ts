import { attempt, guarded } from './page.ts';
import { masked, squeezed, textOf } from './redact.ts';
import type { InventoryElement, InventoryHost } from './types.ts';

const ELEMENTS_MAX = 300;
const TEXT_CHARACTERS_MAX = 80;
const ADDRESS_CHARACTERS_MAX = 2000;
const PAGES_REMEMBERED_MAX = 50;
const AFTER_MS = 1000;
const SLICE_MS = 8;
/** A page that always draws is never idle. */
const IDLE_MS_MAX = 1000;

export const LISTED =
  'a[href],button,form,input:not([type=hidden],[type=password]),select,textarea,[role=button],[data-svc]';
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
export function nameOf(element: Element): string {
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
 * Looks over each page that is shown, in slices when the browser is idle or a second later, and submits what definitions could be
 * made of: once a page and content. Whatever repeats something that is typed into a field of the page is left out.
 */
export function startInventory({ submit, onPage }: InventoryHost): void {
  const sent = new Set<string>();
  const whenIdle = (begin: () => void): void =>
    void (window.requestIdleCallback?.(begin, { timeout: IDLE_MS_MAX }) ?? setTimeout(begin));
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

/** Attributes that name an element, those that outlive a rebuild longest first. */
const NAMING = ['data-svc', 'data-testid', 'name', 'id', 'aria-label', 'placeholder', 'href'];
/** Escaped, as Word's `o:p` would be no selector. */
const escapedName = (element: Element): string => CSS.escape(element.localName);
const all = (selector: string): Element[] => [...document.querySelectorAll(selector)];
/** Of more elements of a kind the texts are not read. */
const ALIKE_MAX = 1000;
const isOnly = (selector: string): boolean => all(selector).length === 1;

// A form that is asked itself answers with its field of that name.
const byAttribute = (element: Element, attribute: string): string =>
  attributeSelector(attribute, Element.prototype.getAttribute.call(element, attribute) ?? '');

/** Empty where the value tells a person, a session or a build, or is no name. Of an address the path counts. */
export function attributeSelector(attribute: string, whole: string): string {
  const value = attribute === 'href' ? whole.replace(/[?#].*/, '') : whole;
  if (!value || value.length > 200 || /[\n\r]/.test(value) || masked(value) !== value.trim()) return '';
  if (attribute === 'id') return isChosen(value) ? `#${value}` : '';
  if (attribute === 'href' && !/^(\/|https?:|[\w.-]+(\/|$))/.test(value)) return '';
  return `[${attribute}${value === whole ? '' : '^'}=${JSON.stringify(value)}]`;
}

/** A selector by what the element is called; empty where nothing names it alone. */
function named(element: Element): string {
  return NAMING.map((attribute) => byAttribute(element, attribute)).find((one) => one && isOnly(one)) ?? '';
}

function kindOf(element: Element): string {
  const told = ['role', 'type'].map((name) => [name, element.getAttribute(name)] as const);
  return (
    escapedName(element) + told.map(([name, value]) => (value ? `[${name}=${JSON.stringify(value)}]` : '')).join('')
  );
}

/** The way from an element's ancestor by positions, for what nothing else tells apart. */
function wayTo(element: Element, scope: Element | null): string {
  const parent = element.parentElement;
  if (!parent) return escapedName(element);
  let place = 1;
  // Not by the parent's children: in a form that has a field of that name they are the field.
  for (let one = element.previousElementSibling; one; one = one.previousElementSibling) place++;
  const step = `${escapedName(element)}:nth-child(${place})`;
  return parent === scope ? step : `${wayTo(parent, scope)}>${step}`;
}

/**
 * A selector that still finds the element after a rebuild of the page with other class names and another order: by what
 * names it, else by its kind within the nearest ancestor that has a name. One that finds others too is told apart by the
 * element's text, which goes into `text_contains`; positions are the last resort.
 *
 * @param read gives an element's text; of many elements of one page one that remembers it.
 * @public test/browser/tag/selectors.test.ts bundles this file and calls it in a page.
 */
export function selectorOf(element: Element, read = textOf): string {
  const own = named(element);
  if (own) return own;
  let scope = element.parentElement;
  let prefix = '';
  for (; scope && !prefix; scope = prefix ? scope : scope.parentElement) prefix = named(scope);
  const base = (prefix && `${prefix} `) + kindOf(element);
  const alike = all(base);
  const text = alike.length > ALIKE_MAX ? '' : read(element);
  if (alike.length === 1 || (text && alike.filter((one) => read(one).includes(text)).length === 1)) return base;
  const classed = [...element.classList].filter(isChosenClass).map((name) => `${base}.${name}`);
  return classed.find(isOnly) ?? (prefix && `${prefix}>`) + wayTo(element, scope);
}

const GENERATED =
  /\d\d|\d[a-z]|[a-z]\d|[bcdfghjklmnpqrstvwxz]{5}|^(headlessui|radix|react|mui|ember|cdk|mat|css|sc|jss|svelte|ng)-/i;

/** Whether an id or a class looks like a word that somebody chose, not like a hash or a counter of a build. */
export const isChosen = (name: string): boolean => /^[a-z][\w-]*$/i.test(name) && !GENERATED.test(name);

/** Of a class too, where hashes of build tools stand behind words and in mixed case. */
export const isChosenClass = (name: string): boolean =>
  isChosen(name) && name === name.toLowerCase() && !/_[^_]{5,8}$/.test(name);
