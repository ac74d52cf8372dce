import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface MenuProps {
  /** What the button that opens it shows. */
  label: ComponentChildren;
  /** What those who listen hear in place of it. */
  name?: string;
  /** At which edge of the button it opens. */
  align?: 'start' | 'end';
  children: (close: () => void) => ComponentChildren;
}

/** A button and what opens below it. Escape, a click elsewhere and leaving it by keyboard close it. */
export function Menu({ label, name, align = 'start', children }: MenuProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPointer = (event: PointerEvent): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) === false) setOpen(false);
    };
    document.addEventListener('pointerdown', onPointer);
    return () => document.removeEventListener('pointerdown', onPointer);
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears what happens to the button and the fields in it.
    <div
      class="menu"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.preventDefault();
        close();
      }}
      onFocusOut={(event) => {
        const to = event.relatedTarget;
        if (to instanceof Node && root.current?.contains(to) === false) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="button menu-button"
        aria-expanded={isOpen}
        {...(name !== undefined && { 'aria-label': name })}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && <div class={`menu-box menu-${align}`}>{children(close)}</div>}
    </div>
  );
}
