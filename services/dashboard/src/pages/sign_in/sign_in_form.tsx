import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Failure } from '../../api/api_answer.ts';
import { TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { signIn } from '../../who.ts';
import { ProviderButtons } from './providers.tsx';

const SECOND_FACTOR = 'second_factor_needed';

interface SignInFormProps {
  /** The id of the user who signs in; null: it is asked for. */
  user: string | null;
  /** What a provider's sign-in failed by. */
  said: Failure | null;
}

/** Asks for the password, and for the code of the second factor where the user has one. */
export function SignInForm({ user, said }: SignInFormProps): VNode {
  const [userId, setUserId] = useState(user ?? '');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [needsCode, setNeedsCode] = useState(false);
  useEffect(() => setFailure(said), [said]);

  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const answer = await signIn({ user_id: userId.trim(), password, ...(needsCode && { code: code.trim() }) });
    setBusy(false);
    if (answer.ok) return;
    const asksForCode = answer.failure.code === SECOND_FACTOR;
    setNeedsCode(needsCode || asksForCode);
    setFailure(asksForCode && !needsCode ? null : answer.failure);
  };
  return (
    <form class="stack" onSubmit={(event) => void send(event)}>
      {failure !== null && <FailureNote failure={failure} />}
      {user === null ? (
        <TextField label="User" name="username" autocomplete="username" required value={userId} onValue={setUserId} />
      ) : (
        // For what remembers passwords.
        <input type="hidden" name="username" autocomplete="username" value={userId} />
      )}
      <TextField
        label="Password"
        type="password"
        name="password"
        autocomplete="current-password"
        required
        value={password}
        onValue={setPassword}
      />
      {needsCode && (
        <TextField
          label="Code"
          name="code"
          autocomplete="one-time-code"
          inputMode="numeric"
          required
          hint="Of the app on your phone, or one of your recovery codes"
          value={code}
          onValue={setCode}
        />
      )}
      <button type="submit" class="button primary wide" disabled={isBusy}>
        Sign in
      </button>
      <ProviderButtons onFailure={setFailure} />
    </form>
  );
}
