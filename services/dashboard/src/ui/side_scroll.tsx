import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface SideScrollProps {
  label: string;
  /** What it holds may be wider than there is room. */
  children: ComponentChildren;
}

/** A region that scrolls to the side, by keyboard as well, with a shadow at an edge behind which there is more. */
export function SideScroll({ label, children }: SideScrollProps): VNode {
  const region = useRef<HTMLElement>(null);
  const [more, setMore] = useState({ before: false, after: false });
  const look = (): void => {
    const seen = region.current;
    if (seen === null) return;
    const [before, after] = [seen.scrollLeft > 1, seen.scrollLeft + seen.clientWidth < seen.scrollWidth - 1];
    setMore((known) => (known.before === before && known.after === after ? known : { before, after }));
  };
  // What it holds may have become wider with whatever drew it again.
  useLayoutEffect(look);
  useLayoutEffect(() => {
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  return (
    <div class={`side-scroll ${more.before ? 'more-before' : ''} ${more.after ? 'more-after' : ''}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section class="side-scroll-region" aria-label={label} tabIndex={0} ref={region} onScroll={look}>
        {children}
      </section>
    </div>
  );
}
