import type { VNode } from 'preact';
import { TextField } from '../../ui/form_fields.tsx';
import { who } from '../../who.ts';

/** Asks for a code beside the password, where the person has a second factor. */
export function CodeOfProof({ code, onCode }: { code: string; onCode(code: string): void }): VNode | null {
  if (who.value?.second_factor !== true) return null;
  return (
    <TextField
      label="Code"
      name="code"
      autocomplete="one-time-code"
      required
      hint="Of the app, or a recovery code"
      value={code}
      onValue={onCode}
    />
  );
}

/** What proves who somebody is, as requests carry it. */
export function proofBody(password: string, code: string): { password: string; code?: string } {
  return who.value?.second_factor === true ? { password, code: code.trim() } : { password };
}
