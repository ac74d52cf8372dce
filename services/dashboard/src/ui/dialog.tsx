import type { ComponentChildren, JSX, VNode } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { IconButton } from './icon_button.tsx';
import { Toasts, toastIn } from './toast.tsx';
import { UnsavedForms, useLoss } from './unsaved.ts';

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
export function Dialog({
  title,
  kind = 'middle',
  isChanged = false,
  staysOpen = false,
  onClose,
  children,
}: DialogProps): VNode {
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
        <Confirm
          title="Leave without saving?"
          action="Leave"
          isDangerous
          onConfirm={onClose}
          onClose={() => setAsks(false)}
        >
          <p>What was changed here is lost.</p>
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
  /** What the button says that does it. */
  action: string;
  /** Whether it takes something away. */
  isDangerous?: boolean;
  isBusy?: boolean;
  onConfirm(): void;
  onClose(): void;
  children: ComponentChildren;
}

/** Asks whether something shall be done. */
export function Confirm({
  title,
  action,
  isDangerous = false,
  isBusy = false,
  onConfirm,
  onClose,
  children,
}: ConfirmProps): VNode {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
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
