import type { ComponentChildren, VNode } from 'preact';
import { useId } from 'preact/hooks';

interface PanelProps {
  title: string;
  /** Beside the title: buttons, links. */
  actions?: ComponentChildren;
  /** Below the title: what the numbers are, in a sentence. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a page with a heading. */
export function Panel({ title, actions, note, children }: PanelProps): VNode {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="panel-actions">{actions}</div>}
      </div>
      {note !== undefined && <p class="muted small panel-note">{note}</p>}
      {children}
    </section>
  );
}
