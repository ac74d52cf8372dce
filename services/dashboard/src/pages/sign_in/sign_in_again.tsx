import type { VNode } from 'preact';
import type { Who } from '#services/control_api/users.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { giveUpSession } from '../../who.ts';
import { SignInForm } from './sign_in_form.tsx';

/** Asks whoever was signed in for their password over the page, which keeps what they typed. */
export function SignInAgain({ who }: { who: Who }): VNode {
  return (
    <Dialog title="Sign in again" staysOpen onClose={giveUpSession}>
      <p>
        The session of {who.name} has ended. The page is kept as it is until you sign in with your password; a provider
        and another user begin anew.
      </p>
      <SignInForm user={who.id} said={null} />
      <button type="button" class="button quiet wide" onClick={giveUpSession}>
        Sign in as somebody else
      </button>
    </Dialog>
  );
}
