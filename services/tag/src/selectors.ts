import { isChosen, isChosenClass } from './chosen_words.ts';
import { masked } from './masked.ts';
import { textOf } from './page_text.ts';

/** Attributes that name an element, those that outlive a rebuild longest first. */
const NAMING = ['data-svc', 'data-testid', 'name', 'id', 'aria-label', 'placeholder', 'href'];
/** Escaped, as Word's `o:p` would be no selector. */
const nameOf = (element: Element): string => CSS.escape(element.localName);
const all = (selector: string): Element[] => [...document.querySelectorAll(selector)];
/** Of more elements of a kind the texts are not read. */
const ALIKE_MAX = 1000;
const isOnly = (selector: string): boolean => all(selector).length === 1;

function byAttribute(element: Element, attribute: string): string {
  // A form that is asked itself answers with its field of that name.
  const whole = Element.prototype.getAttribute.call(element, attribute) ?? '';
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
  return nameOf(element) + told.map(([name, value]) => (value ? `[${name}=${JSON.stringify(value)}]` : '')).join('');
}

/** The way from an element's ancestor by positions, for what nothing else tells apart. */
function wayTo(element: Element, scope: Element | null): string {
  const parent = element.parentElement;
  if (!parent) return nameOf(element);
  let place = 1;
  // Not by the parent's children: in a form that has a field of that name they are the field.
  for (let one = element.previousElementSibling; one; one = one.previousElementSibling) place++;
  const step = `${nameOf(element)}:nth-child(${place})`;
  return parent === scope ? step : `${wayTo(parent, scope)}>${step}`;
}

/**
 * A selector that still finds the element after a rebuild of the page with other class names and another order: by what
 * names it, else by its kind within the nearest ancestor that has a name. One that finds others too is told apart by the
 * element's text, which goes into `text_contains`; positions are the last resort.
 *
 * @param read gives an element's text; of many elements of one page one that remembers it.
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
