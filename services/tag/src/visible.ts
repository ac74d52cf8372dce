import type { EventDefinition } from './types.ts';

const ELEMENTS_MAX = 200;
const LOOK_AGAIN_AFTER_MS = 300;
const SHARES = [0, 0.1, 0.2, 0.3, 0.4, 0.5];

/** Half of the element is in view, or it fills half of the view. */
const isSeen = ({ intersectionRatio, intersectionRect, rootBounds }: IntersectionObserverEntry): boolean =>
  intersectionRatio >= 0.5 || (rootBounds !== null && intersectionRect.height * 2 >= rootBounds.height);

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
export function watchVisible(
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
