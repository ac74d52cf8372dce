import { matchesAddress } from '#pipelines/settings/url_pattern.ts';
import { textOf } from './page_text.ts';
import { propertiesAt } from './read_page.ts';
import type { DefinitionsHost, EventDefinition, Properties } from './types.ts';
import { watchVisible } from './visible.ts';

/** What a click without a selector is about, so that the text of a whole button counts and not of the word clicked. */
const CLICKABLE = 'a,button,summary,label,input,[role]';
const SCROLL_PERCENT = 50;
const TIMER_SECONDS = 30;

const scrolledPercent = (): number => {
  const { scrollTop, clientHeight, scrollHeight } = document.documentElement;
  return (100 * (scrollTop + clientHeight)) / scrollHeight;
};

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
