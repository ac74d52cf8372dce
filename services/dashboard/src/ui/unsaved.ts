import { createContext } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';

/** Forms in a dialog that hold something not saved yet; a dialog provides its own. */
export const UnsavedForms = createContext<Set<object>>(new Set());

/** Tells the dialog round a form whether closing it would lose what was changed. */
export function useUnsaved(isChanged: boolean): void {
  const forms = useContext(UnsavedForms);
  const form = useRef({}).current;
  // At once: Escape may be pressed right after the last letter.
  useLayoutEffect(() => {
    if (isChanged) forms.add(form);
    return () => void forms.delete(form);
  }, [forms, isChanged]);
}
