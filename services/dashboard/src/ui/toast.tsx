import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { Icon } from './icon.tsx';

interface Toast {
  id: number;
  text: string;
  kind: 'good' | 'bad';
}

/** What fails stays until it is closed; what went well is gone by itself. */
const SHOWN_MS = 5_000;

const toasts = signal<readonly Toast[]>([]);
let count = 0;

/** Tells what was done, at the edge of the page. */
export function toast(text: string, kind: Toast['kind'] = 'good'): void {
  count += 1;
  const one = { id: count, text, kind };
  toasts.value = [...toasts.value, one];
  if (kind === 'good') setTimeout(() => drop(one.id), SHOWN_MS);
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Where toasts appear; those who listen hear them. */
export function Toasts(): VNode {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, kind }) => (
        <div class={`toast toast-${kind}`} key={id}>
          <Icon name={kind === 'good' ? 'check' : 'warning'} />
          <span>{text}</span>
          <button type="button" class="button icon-only" aria-label="Dismiss" onClick={() => drop(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
