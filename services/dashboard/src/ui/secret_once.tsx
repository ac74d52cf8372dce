import type { ComponentChildren, VNode } from 'preact';
import { CopyButton } from './copy_button.tsx';
import { Dialog } from './dialog.tsx';
import { useLoss } from './unsaved.ts';

/** A secret that is shown this once, to be copied. `what` names it: "key". */
export function SecretOnce({ secret, what }: { secret: string; what: string }): VNode {
  useLoss(true);
  return (
    <div class="stack">
      <p>Copy the {what} now. It is stored nowhere and cannot be shown again.</p>
      <div class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} what={what} />
      </div>
    </div>
  );
}

interface IssuedSecretProps {
  secret: string;
  /** What it is: "key". */
  what: string;
  /** In place of "The key was issued". */
  title?: string;
  onClose(): void;
  /** What else there is to know. */
  children?: ComponentChildren;
}

/** The dialog in which a secret that was just issued is shown; only its button closes it. */
export function IssuedSecret({
  secret,
  what,
  title = `The ${what} was issued`,
  onClose,
  children,
}: IssuedSecretProps): VNode {
  return (
    <Dialog title={title} staysOpen onClose={onClose}>
      <SecretOnce secret={secret} what={what} />
      {children}
      <div class="actions">
        <button type="button" class="button primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
