import type { VNode } from 'preact';
import { CopyButton } from './copy_button.tsx';
import { Dialog } from './dialog.tsx';

/** A secret that is shown this once, to be copied. `what` names it: "key". */
export function SecretOnce({ secret, what }: { secret: string; what: string }): VNode {
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

/** The dialog in which a secret that was just issued is shown; only its button closes it. */
export function IssuedSecret({ secret, what, onClose }: { secret: string; what: string; onClose(): void }): VNode {
  return (
    <Dialog title={`The ${what} was issued`} staysOpen onClose={onClose}>
      <SecretOnce secret={secret} what={what} />
      <div class="actions">
        <button type="button" class="button primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
