/** How far down the page has been seen, in percent. */
export const scrolledPercent = (): number => {
  const { scrollTop, clientHeight, scrollHeight } = document.documentElement;
  return (100 * (scrollTop + clientHeight)) / scrollHeight;
};

/** Half of the element is in view, or it fills half of the view. */
export const isSeen = ({ intersectionRatio, intersectionRect, rootBounds }: IntersectionObserverEntry): boolean =>
  intersectionRatio >= 0.5 || (rootBounds !== null && intersectionRect.height * 2 >= rootBounds.height);
