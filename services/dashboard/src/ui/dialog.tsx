import { signal } from '@preact/signals';
import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { setNavigationGuard } from '../router.ts';
import { Button, Icon, IconButton } from './button.tsx';

interface DialogProps {
  title: string;
  /** `side`: a panel at the right edge, for looking at one thing of a list; `wide`: the same with room for two things. */
  kind?: 'middle' | 'side' | 'wide';
  /** Whether closing it would lose something that was changed in it; forms inside say so by `useUnsaved`. */
  isChanged?: boolean;
  /** Whether nothing but a button among its children closes it, as what it shows is shown this once. */
  staysOpen?: boolean;
  onClose(): void;
  children: ComponentChildren;
}

/**
 * A dialog over the page, open for as long as it is part of it. Escape and a click beside it close it, after asking where
 * something was changed.
 */
export function Dialog(props: DialogProps) {
  const { title, kind = 'middle', isChanged = false, staysOpen = false, onClose, children } = props;
  const id = useId();
  const unsaved = useRef(new Set<object>()).current;
  const layer = useRef({}).current;
  const [asks, setAsks] = useState(false);
  useEffect(() => toastIn(layer), [layer]);
  useLoss(isChanged);
  const leave = (): void => {
    if (staysOpen) return;
    if (isChanged || unsaved.size > 0) setAsks(true);
    else onClose();
  };
  return (
    <dialog class={`dialog dialog-${kind}`} aria-labelledby={id} {...useModal(leave)}>
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          {!staysOpen && <IconButton icon="close" label="Close" onClick={leave} />}
        </div>
        <UnsavedForms.Provider value={unsaved}>{children}</UnsavedForms.Provider>
      </div>
      <Toasts dialog={layer} />
      {asks && (
        <Confirm title="Leave without saving?" action="Leave" onConfirm={onClose} onClose={() => setAsks(false)}>
          <p>Your changes will be lost.</p>
        </Confirm>
      )}
    </dialog>
  );
}

/** Opens the dialog, gives the focus back after it, and says when somebody wants to leave it. */
function useModal(leave: () => void): JSX.IntrinsicElements['dialog'] {
  const dialog = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return {
    ref: dialog,
    onKeyDown(event) {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      // The browser does not ask about a second Escape in a row: it closes the dialog. So it gets to see none.
      event.preventDefault();
      leave();
    },
    onCancel(event) {
      if (event.target !== dialog.current) return;
      event.preventDefault();
      leave();
    },
    onClose(event) {
      if (event.target !== dialog.current) return;
      // Closed by the browser without asking.
      dialog.current?.showModal();
      leave();
    },
    // Text that is selected out of a field and let go beside the dialog ends in a click there as well.
    onPointerDown(event) {
      isPressedBeside.current = event.target === dialog.current;
    },
    onClick(event) {
      if (event.target === dialog.current && isPressedBeside.current) leave();
    },
  };
}

interface ConfirmProps {
  title: string;
  action: string;
  isDangerous?: boolean;
  isBusy?: boolean;
  onConfirm(): unknown;
  onClose(): void;
  children: ComponentChildren;
}

export function Confirm(props: ConfirmProps) {
  const { title, action, isDangerous = true, isBusy = false, onConfirm, onClose, children } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div class="actions">
        <Button label="Cancel" onClick={onClose} />
        <button
          type="button"
          class={`button ${isDangerous ? 'danger' : 'primary'}`}
          disabled={isBusy}
          onClick={onConfirm}
        >
          {action}
        </button>
      </div>
    </Dialog>
  );
}

/** Forms in a dialog that hold something not saved yet; a dialog provides its own. */
const UnsavedForms = createContext<Set<object>>(new Set());

/** Whatever would be lost where somebody left the page. */
const losses = new Set<object>();

const hasUnsavedChanges = (): boolean => losses.size > 0;

/** Says that leaving the page would lose what is shown, such as what was typed or a secret that is shown once. */
export function useLoss(isLost: boolean): void {
  useMembership(losses, isLost);
}

/** Tells the dialog round a form whether closing it would lose what was changed. */
export function useUnsaved(isChanged: boolean): void {
  useMembership(useContext(UnsavedForms), isChanged);
  useLoss(isChanged);
}

function useMembership(all: Set<object>, isMember: boolean): void {
  const one = useRef({}).current;
  // At once: Escape may be pressed right after the last letter.
  useLayoutEffect(() => {
    if (isMember) all.add(one);
    return () => void all.delete(one);
  }, [all, isMember]);
}

/** Where somebody is asked whether they leave what would be lost: what leaves it. */
export const pendingLeave = signal<(() => void) | null>(null);

/** Asks before the way back, or leaving the dashboard, loses what was typed or is shown once. */
export function guardUnsaved(): void {
  setNavigationGuard((leave) => {
    if (!hasUnsavedChanges()) return false;
    pendingLeave.value = leave;
    return true;
  });
  addEventListener('beforeunload', (event) => {
    if (hasUnsavedChanges()) event.preventDefault();
  });
}

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
function toastIn(dialog: object): () => void {
  dialogs.value = [...dialogs.value, dialog];
  return () => {
    dialogs.value = dialogs.value.filter((one) => one !== dialog);
  };
}

export function toast(text: string, kind: Toast['kind'] = 'good'): void {
  count += 1;
  const one = { id: count, text, kind };
  toasts.value = [...toasts.value, one];
  if (kind === 'good') setTimeout(() => drop(one.id), SHOWN_MS);
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function dropToasts(): void {
  toasts.value = [];
}

/** Where toasts appear while a dialog, or none where it is null, is on top; those who listen hear them. */
export function Toasts({ dialog }: { dialog: object | null }) {
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
