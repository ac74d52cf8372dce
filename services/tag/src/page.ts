// What the tag does with a page that is not its own: errors are kept from it, and what of it is in view.

/**
 * The function with every error kept from the page: whatever a browser, an extension or a page has done to the APIs used
 * in it, the visitor's page goes on as if the tag was not there.
 */
export const guarded =
  <Args extends unknown[], Result>(fn: (...args: Args) => Result) =>
  (...args: Args): Result | undefined => {
    try {
      return fn(...args);
    } catch {
      return undefined;
    }
  };

export const attempt = <Result>(fn: () => Result): Result | undefined => guarded(fn)();

export const listen = (target: EventTarget, type: string, listener: (event: Event) => void): void => {
  attempt(() => target.addEventListener(type, guarded(listener)));
};

/** How far down the page has been seen, in percent. */
export const scrolledPercent = (): number => {
  const { scrollTop, clientHeight, scrollHeight } = document.documentElement;
  return (100 * (scrollTop + clientHeight)) / scrollHeight;
};

/** Half of the element is in view, or it fills half of the view. */
export const isSeen = ({ intersectionRatio, intersectionRect, rootBounds }: IntersectionObserverEntry): boolean =>
  intersectionRatio >= 0.5 || (rootBounds !== null && intersectionRect.height * 2 >= rootBounds.height);
