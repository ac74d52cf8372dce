import { createContext } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';

/** Forms in a dialog that hold something not saved yet; a dialog provides its own. */
export const UnsavedForms = createContext<Set<object>>(new Set());

/** Whatever would be lost where somebody left the page. */
const losses = new Set<object>();

/** Whether leaving the page would lose something. */
export const wouldLose = (): boolean => losses.size > 0;

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
