import { guarded } from '../guarded.ts';

/** Half of it is in view, or it fills half of the view. */
const isSeen = ({ intersectionRatio, intersectionRect, rootBounds }: IntersectionObserverEntry): boolean =>
  intersectionRatio >= 0.5 || (rootBounds !== null && intersectionRect.height * 2 >= rootBounds.height);

/** Calls `then` once, when the observer says of the element what is waited for. */
function whenObserved(element: Element, isIt: (entry: IntersectionObserverEntry) => boolean, then: () => void): void {
  const observer = new IntersectionObserver(
    guarded((entries) => {
      if (!entries.some(isIt)) return;
      observer.disconnect();
      then();
    }),
    { threshold: [0, 0.1, 0.25, 0.5] },
  );
  observer.observe(element);
}

/**
 * Lets a panel appear in an element of the page without moving what the visitor looks at: where the page has reserved its
 * place, which is an element that is empty and high enough, at once; else when the element is below the view. Above it would
 * do only where the browser keeps the view where it was. It is measured before that, unseen.
 *
 * @param seen called when the visitor sees it.
 */
export function appearIn(mount: Element, box: HTMLElement, seen: () => void): void {
  const reveal = (): void => {
    box.classList.remove('measured');
    whenObserved(box, isSeen, seen);
  };
  const isEmpty = mount.childElementCount === 1 && !mount.textContent?.trim();
  if (isEmpty && mount.clientHeight >= box.offsetHeight) reveal();
  else whenObserved(mount, ({ isIntersecting, boundingClientRect: { top } }) => !isIntersecting && top > 0, reveal);
}
