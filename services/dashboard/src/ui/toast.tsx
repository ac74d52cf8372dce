import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { Icon } from './icon.tsx';
import { IconButton } from './icon_button.tsx';

interface Toast {
  id: number;
  text: string;
  kind: 'good' | 'bad';
}

/** What fails stays until it is closed; what went well is gone by itself. */
const SHOWN_MS = 5_000;

const toasts = signal<readonly Toast[]>([]);
let count = 0;

/** The dialogs that are open, the one on top last: what lies below it is neither seen nor heard nor reached. */
const dialogs = signal<readonly object[]>([]);

/** Has toasts appear in a dialog for as long as it is on top. Answers what is to be done when it is closed. */
export function toastIn(dialog: object): () => void {
  dialogs.value = [...dialogs.value, dialog];
  return () => {
    dialogs.value = dialogs.value.filter((one) => one !== dialog);
  };
}

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

/** Takes back all that was told. */
export function dropToasts(): void {
  toasts.value = [];
}

/** Where toasts appear while a dialog, or none where it is null, is on top; those who listen hear them. */
export function Toasts({ dialog }: { dialog: object | null }): VNode {
  const isOnTop = (dialogs.value.at(-1) ?? null) === dialog;
  return (
    <div class="toasts" role="status" aria-live="polite">
      {(isOnTop ? toasts.value : []).map(({ id, text, kind }) => (
        <div class={`toast toast-${kind}`} key={id}>
          <Icon name={kind === 'good' ? 'check' : 'warning'} />
          <span>{text}</span>
          <IconButton icon="close" label="Dismiss" onClick={() => drop(id)} />
        </div>
      ))}
    </div>
  );
}
