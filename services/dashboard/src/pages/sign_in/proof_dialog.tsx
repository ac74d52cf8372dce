import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { readProviders, signInBeside } from '../../api/providers.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import { FailureNote, Shown } from '../../ui/states.tsx';
import { who } from '../../who.ts';
import { CodeOfProof, proofBody } from './code_of_proof.tsx';

interface ProofProps {
  /** Hears whether they have proven it; then what they wanted is done. */
  onSettled(isProven: boolean): void;
}

/** Asks whoever is signed in to prove that it is them, over a page that keeps what they typed. */
export function ProofDialog({ onSettled }: ProofProps): VNode {
  const hasPassword = who.value?.has_password !== false;
  return (
    <Dialog title="Is it you?" onClose={() => onSettled(false)}>
      <div class="stack">
        <p>
          This decides who gets in and what they may. It takes a proof of the last quarter of an hour that it is you, as
          somebody else may have found this page open. What you typed stays.
        </p>
        {hasPassword ? <ByPassword onSettled={onSettled} /> : <ByProvider onSettled={onSettled} />}
      </div>
    </Dialog>
  );
}

function ByPassword({ onSettled }: ProofProps): VNode {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const action = useAction();
  const prove = async (event: Event): Promise<void> => {
    event.preventDefault();
    const proven = await action.run(() =>
      request<object>('POST', '/v1/session/proof', { body: proofBody(password, code) }),
    );
    if (proven !== null) onSettled(true);
  };
  return (
    <form class="stack" onSubmit={(event) => void prove(event)}>
      {/* For what remembers passwords. */}
      <input type="hidden" name="username" autocomplete="username" value={who.value?.id ?? ''} />
      <TextField
        label="Your password"
        type="password"
        name="password"
        autocomplete="current-password"
        required
        problem={problemOf(action.failure, 'password')}
        value={password}
        onValue={setPassword}
      />
      <CodeOfProof code={code} onCode={setCode} />
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <FormActions action="Go on" disabled={action.isBusy} onClose={() => onSettled(false)} />
    </form>
  );
}

/** Signing in anew is the proof of who has no password. Another tab does it, so that this page stays. */
function ByProvider({ onSettled }: ProofProps): VNode {
  const asked = useAnswer('providers', readProviders);
  const action = useAction();
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        onSettled(true);
      }}
    >
      <p>You have no password here: sign in at your provider again, in a new tab, and then go on here.</p>
      <Shown asked={asked} lines={1}>
        {({ items }) => (
          <div class="stack-small">
            {items.map(({ id, label }) => (
              <button
                key={id}
                type="button"
                class="button wide"
                disabled={action.isBusy}
                onClick={() => void action.run(() => signInBeside(id))}
              >
                Sign in at {label} in a new tab
              </button>
            ))}
          </div>
        )}
      </Shown>
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <FormActions action="Go on" disabled={action.isBusy} onClose={() => onSettled(false)} />
    </form>
  );
}
