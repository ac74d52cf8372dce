import { numberIn } from './numbers.ts';
import { textOf } from './page_text.ts';
import type { EventDefinition, Properties } from './types.ts';

const TEXT_CHARACTERS_MAX = 500;
const SECRET = /passw|cc-|card|cv[cv2]|iban|ssn|one-time/i;
const AMOUNT = /^(value|price|quantity|tax|shipping|discount|num_items)$/;

/** What stands in a field; nothing of passwords and payment cards, by what the field is called and by what is in it. */
function typedIn({ type, name, id, autocomplete, value, checked }: HTMLInputElement): string {
  if (SECRET.test([type, name, id, autocomplete].join()) || /^\d{13,19}$/.test(value.replace(/[\s-]/g, ''))) return '';
  return type === 'checkbox' ? `${checked}` : value;
}

const said = (element: Element): string =>
  element.matches('input,textarea,select')
    ? typedIn(element as HTMLInputElement)
    : (element.getAttribute('content') ?? textOf(element));

/** The nearest match: in the element, else around it, so that of many products the one that was clicked is read. */
function nearest(element: Element, selector: string): Element | null {
  const found = element.matches(selector) ? element : element.querySelector(selector);
  return found ?? (element.parentElement && nearest(element.parentElement, selector));
}

/** What the page says at a selector; undefined where it says nothing. */
function readAt(element: Element, selector: string): string | undefined {
  try {
    const found = nearest(element, selector) ?? document.querySelector(selector);
    return (found && said(found).trim().slice(0, TEXT_CHARACTERS_MAX)) || undefined;
  } catch {
    // A malformed selector costs its own field, not the event.
    return undefined;
  }
}

/** The properties of an event that a definition fires: its own, and what the page says now. */
export function propertiesAt(definition: EventDefinition, element: Element): Properties {
  const { id, properties, value_selector: value, field_selectors: fields } = definition;
  const all: Properties = { ...properties, $definition_id: id };
  for (const [name, selector] of Object.entries(value ? { ...fields, value } : fields)) {
    const text = readAt(element, selector);
    const read = text && AMOUNT.test(name) ? numberIn(text) : text;
    if (read !== undefined) all[name] = read;
  }
  return all;
}
