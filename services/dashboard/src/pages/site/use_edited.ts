import { useEffect, useState } from 'preact/hooks';

/** The fields of a form that were changed and do not yet say the same as what is stored. */
export function stillEdited<Draft extends object>(edited: Partial<Draft>, stored: Draft): Partial<Draft> {
  const open = Object.entries(edited).filter(([name, value]) => stored[name as keyof Draft] !== value);
  return Object.fromEntries(open) as Partial<Draft>;
}

/**
 * What a form over a part of the site holds: what is stored, with the fields that were changed. Saving one form makes a new
 * version of the site, which leaves alone what was typed in the others.
 */
export function useEdited<Draft extends object>(
  stored: Draft,
  version: string,
): [draft: Draft, edit: (fields: Partial<Draft>) => void] {
  const [edited, setEdited] = useState<Partial<Draft>>({});
  useEffect(() => setEdited((before) => stillEdited(before, stored)), [version]);
  return [{ ...stored, ...edited }, (fields) => setEdited((before) => ({ ...before, ...fields }))];
}
