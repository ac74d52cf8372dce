import { matchesAddress } from '#pipelines/settings/url_pattern.ts';
import { isSeen, scrolledPercent } from './page.ts';
import { textOf } from './redact.ts';
import type { DefinitionsHost, EventDefinition, Properties } from './types.ts';

/** What a click without a selector is about, so that the text of a whole button counts and not of the word clicked. */
const CLICKABLE = 'a,button,summary,label,input,[role]';
const SCROLL_PERCENT = 50;
const TIMER_SECONDS = 30;

/** The innermost element of an event's path that a definition is about, through open shadow roots. */
function targetIn({ selector, trigger }: EventDefinition, path: readonly EventTarget[]): Element | undefined {
  const elements = path.filter((node) => node instanceof Element);
  const wanted = selector || (trigger === 'click' && CLICKABLE);
  const found = wanted ? elements.find((element) => element.matches(wanted)) : undefined;
  return found ?? (selector ? undefined : elements[0]);
}

const holds = (element: Element, text: string): boolean =>
  !text || textOf(element).toLowerCase().includes(text.trim().toLowerCase());

/**
 * Fires the enabled definitions: one listener on the document for each trigger in use, so that what the page builds later
 * counts too, and `visible` by an IntersectionObserver. `visible`, `scroll` and `timer` fire once a page. A malformed
 * selector costs its own definition only.
 */
export function startDefinitions(events: readonly EventDefinition[], host: DefinitionsHost): void {
  const fired = new Set<EventDefinition>();
  let timers: ReturnType<typeof setTimeout>[] = [];

  /**
   * @param path what an event went through; for a trigger without one, what the selector finds on the page counts.
   * @param use is given the properties where the definition applies.
   */
  function consider(definition: EventDefinition, path?: readonly EventTarget[], use = fire): void {
    const { selector, url_pattern, text_contains } = definition;
    try {
      if (url_pattern && !matchesAddress(url_pattern, location)) return;
      const element = path ? targetIn(definition, path) : document.querySelector(selector || 'body');
      if (element && holds(element, text_contains)) use(propertiesAt(definition, element), definition);
    } catch {
      // It never fires; the others do.
    }
  }
  function fire(properties: Properties, definition: EventDefinition): void {
    fired.add(definition);
    host.track(definition.name, properties, definition);
  }
  const once = (definition: EventDefinition, path?: readonly EventTarget[]) => {
    if (!fired.has(definition)) consider(definition, path);
  };
  const of = (trigger: EventDefinition['trigger']) => events.filter((one) => one.enabled && one.trigger === trigger);
  const listen = (trigger: EventDefinition['trigger'], heard: (event: Event, watched: EventDefinition[]) => void) => {
    const watched = of(trigger);
    if (watched[0])
      document.addEventListener(trigger, (event) => heard(event, watched), { capture: true, passive: true });
  };

  for (const trigger of ['click', 'submit', 'change'] as const) {
    listen(trigger, (event, watched) => {
      for (const one of watched) consider(one, event.composedPath());
    });
  }
  listen('scroll', (_event, watched) => {
    const percent = scrolledPercent();
    for (const one of watched) if (percent >= Number(one.properties['scroll_percent'] ?? SCROLL_PERCENT)) once(one);
  });
  const lookForVisible = watchVisible(of('visible'), fired, (one, element) => once(one, [element]));

  host.onPage(() => {
    fired.clear();
    timers.forEach(clearTimeout);
    timers = of('timer').map((one) =>
      setTimeout(once, Number(one.properties['timer_seconds'] ?? TIMER_SECONDS) * 1000, one),
    );
    for (const one of of('pageview')) consider(one);
    lookForVisible();
  });

  host.enrich = (name, properties) => {
    let all = properties;
    const add = (more: Properties) => {
      all = { ...more, ...all };
    };
    for (const one of of('custom')) if (one.name === name) consider(one, undefined, add);
    return all;
  };
}

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
function propertiesAt(definition: EventDefinition, element: Element): Properties {
  const { id, properties, value_selector: value, field_selectors: fields } = definition;
  const all: Properties = { ...properties, $definition_id: id };
  for (const [name, selector] of Object.entries(value ? { ...fields, value } : fields)) {
    const text = readAt(element, selector);
    const read = text && AMOUNT.test(name) ? numberIn(text) : text;
    if (read !== undefined) all[name] = read;
  }
  return all;
}

/**
 * The first number in a text, as shops write prices: `€ 1.234,50`, `1,234.50 USD`, `1 234,50`, `1'234.50`. One separator
 * with three digits behind it groups thousands, unless only a zero stands before it. Undefined where there is none.
 */
export function numberIn(text: string): number | undefined {
  const found = /\d(\d|[.,'’](?=\d)|\s(?=\d{3}(?!\d)))*/.exec(text);
  if (!found) return undefined;
  const sign = /(^|\W)[-−]\W{0,2}$/.test(text.slice(0, found.index)) ? -1 : 1;
  const digits = found[0].replace(/[\s'’]/g, '');
  const marks = digits.replace(/\d/g, '');
  const parts = digits.split(/[.,]/);
  const last = parts.pop() ?? '';
  const whole = parts.join('');
  const isFraction = marks.length === 1 ? last.length !== 3 || /^0+$/.test(whole) : marks[0] !== marks.at(-1);
  return sign * Number(isFraction ? `${whole}.${last}` : whole + last);
}

const ELEMENTS_MAX = 200;
const LOOK_AGAIN_AFTER_MS = 300;
const SHARES = [0, 0.1, 0.2, 0.3, 0.4, 0.5];

function matching(selector: string): Element[] {
  try {
    return [...document.querySelectorAll(selector)].slice(0, ELEMENTS_MAX);
  } catch {
    // A malformed selector finds nothing.
    return [];
  }
}

/**
 * Watches for what comes into view, also in what the page builds later, as long as a definition waits for it.
 *
 * @returns starts again for a new page.
 */
function watchVisible(
  definitions: readonly EventDefinition[],
  fired: ReadonlySet<EventDefinition>,
  seen: (definition: EventDefinition, element: Element) => void,
): () => void {
  if (!definitions[0]) return () => undefined;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target } of entries.filter(isSeen)) {
        for (const one of definitions) if (matching(one.selector).includes(target)) seen(one, target);
      }
    },
    { threshold: SHARES },
  );
  // biome-ignore lint/correctness/noUnusedVariables: `??=` below reads it.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    timer = undefined;
    const waiting = definitions.filter((one) => !fired.has(one));
    for (const one of waiting) for (const element of matching(one.selector)) observer.observe(element);
    if (!waiting[0]) changes.disconnect();
  };
  const changes = new MutationObserver(() => {
    timer ??= setTimeout(look, LOOK_AGAIN_AFTER_MS);
  });
  return () => {
    observer.disconnect();
    changes.observe(document, { childList: true, subtree: true });
    look();
  };
}
