import { useEffect, useState } from 'preact/hooks';
import type { Providers, Who } from '#services/control_api/users.ts';
import { type ApiError, request } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import { addressOf, currentLocation, matchPath, navigate } from '../../router.ts';
import {
  currentUser,
  finishReturn,
  giveUpSession,
  RETURN_PATH,
  readProviders,
  readSession,
  signIn,
  signInAt,
  signInBeside,
} from '../../session.ts';
import { Button, Icon } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ActionForm, FormActions, PasswordField, submitHandler, TextField, useDraft } from '../../ui/form_fields.tsx';
import { FailureNote, Shown } from '../../ui/panel.tsx';

export function SignInPage() {
  const [failure, setFailure] = useState<ApiError | null>(null);
  useEffect(() => {
    document.title = 'Sign in · Dashboard';
    const returned = matchPath(RETURN_PATH, currentLocation.value.path);
    if (returned !== null) void finishAtProvider(returned['provider'] ?? '', setFailure);
  }, []);
  return (
    <main class="sign-in" id="main">
      <div class="sign-in-box">
        <p class="brand">
          <Icon name="pulse" /> Events
        </p>
        <h1>Sign in</h1>
        <SignInForm user={null} said={failure} />
      </div>
    </main>
  );
}

/** Ends a sign-in at a provider that sent the browser back here; what it sent is of no use a second time. */
async function finishAtProvider(provider: string, onFailure: (failure: ApiError) => void): Promise<void> {
  const sent = location.search.slice(1);
  navigate(addressOf('/'), 'replace');
  const { answer } = await finishReturn(provider, sent);
  if (answer.ok) await readSession();
  else onFailure(answer.failure);
}

const SECOND_FACTOR = 'second_factor_needed';

interface SignInFormProps {
  /** The id of the user who signs in; null: it is asked for. */
  user: string | null;
  /** What a provider's sign-in failed by. */
  said: ApiError | null;
}

function SignInForm({ user, said }: SignInFormProps) {
  const [userId, setUserId] = useState(user ?? '');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [needsCode, setNeedsCode] = useState(false);
  useEffect(() => setFailure(said), [said]);

  const send = async (): Promise<void> => {
    setBusy(true);
    const answer = await signIn({ user_id: userId.trim(), password, ...(needsCode && { code: code.trim() }) });
    setBusy(false);
    if (answer.ok) return;
    const asksForCode = answer.failure.code === SECOND_FACTOR;
    setNeedsCode(needsCode || asksForCode);
    setFailure(asksForCode && !needsCode ? null : answer.failure);
  };
  return (
    <form class="stack" onSubmit={submitHandler(send)}>
      <FailureNote failure={failure} />
      {user === null ? (
        <TextField label="User" name="username" autocomplete="username" required value={userId} onValue={setUserId} />
      ) : (
        // For what remembers passwords.
        <input type="hidden" name="username" autocomplete="username" value={userId} />
      )}
      <PasswordField label="Password" name="password" value={password} onValue={setPassword} />
      {needsCode && (
        <TextField
          label="Code"
          name="code"
          autocomplete="one-time-code"
          inputMode="numeric"
          required
          hint="From your authenticator app, or a recovery code"
          value={code}
          onValue={setCode}
        />
      )}
      <Button type="submit" kind="primary wide" label="Sign in" disabled={isBusy} />
      <ProviderButtons onFailure={setFailure} />
    </form>
  );
}

/** The providers at which people sign in in place of a password. An invitation stands in the address, after its #. */
function ProviderButtons({ onFailure }: { onFailure(failure: ApiError): void }) {
  const [providers, setProviders] = useState<Providers['items']>([]);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    // Without an answer the password is still there.
    void readProviders().then((answer) => answer.ok && setProviders(answer.value.items));
  }, []);
  if (providers.length === 0) return null;
  const invitation = new URLSearchParams(location.hash.slice(1)).get('invitation');
  const begin = async (id: string): Promise<void> => {
    setBusy(true);
    const answer = await signInAt(id, invitation);
    if (answer.ok) return;
    setBusy(false);
    onFailure(answer.failure);
  };
  return (
    <div class="stack-small">
      <p class="muted">
        {invitation === null ? 'Or sign in with' : 'You were invited. Choose the account to sign in with from now on.'}
      </p>
      {providers.map(({ id, label }) => (
        <Button key={id} kind="wide" label={label} disabled={isBusy} onClick={() => begin(id)} />
      ))}
    </div>
  );
}

export const SessionExpiredDialog = ({ who }: { who: Who }) => (
  <Dialog title="Session expired" staysOpen onClose={giveUpSession}>
    <p>
      The session of {who.name} has expired. Sign in with your password to continue where you left off; a provider or
      another user starts over.
    </p>
    <SignInForm user={who.id} said={null} />
    <Button kind="quiet wide" label="Sign in as another user" onClick={giveUpSession} />
  </Dialog>
);

interface ProofProps {
  /** Hears whether they have proven it; then what they wanted is done. */
  onSettled(isRecentlyAuthenticated: boolean): void;
}

export function ReauthDialog({ onSettled }: ProofProps) {
  const hasPassword = currentUser.value?.has_password !== false;
  return (
    <Dialog title="Confirm your identity" onClose={() => onSettled(false)}>
      <div class="stack">
        <p>
          This action affects access, so you must have confirmed your identity in the last 15 minutes. What you typed is
          kept.
        </p>
        {hasPassword ? <ByPassword onSettled={onSettled} /> : <ByProvider onSettled={onSettled} />}
      </div>
    </Dialog>
  );
}

function ByPassword({ onSettled }: ProofProps) {
  const { draft, field } = useDraft({ password: '', code: '' });
  const body = proofBody(draft.password, draft.code);
  return (
    <ActionForm
      action="Continue"
      run={() => request<object>('POST', '/v1/session/proof', { body })}
      onDone={() => onSettled(true)}
      onClose={() => onSettled(false)}
    >
      {(failure) => (
        <>
          {/* For what remembers passwords. */}
          <input type="hidden" name="username" autocomplete="username" value={currentUser.value?.id ?? ''} />
          <PasswordField name="password" {...field(failure)('password')} />
          <SecondFactorField {...field(null)('code')} />
        </>
      )}
    </ActionForm>
  );
}

/** Signing in anew is the proof of who has no password. Another tab does it, so that this page stays. */
function ByProvider({ onSettled }: ProofProps) {
  const asked = useQuery('providers', readProviders);
  const action = useMutation();
  return (
    <form class="stack" onSubmit={submitHandler(() => onSettled(true))}>
      <p>You have no password here: sign in with your provider again in a new tab, then continue here.</p>
      <Shown asked={asked} lines={1}>
        {({ items }) => (
          <div class="stack-small">
            {items.map(({ id, label }) => (
              <Button
                key={id}
                kind="wide"
                label={`Sign in with ${label} in a new tab`}
                disabled={action.isBusy}
                onClick={() => action.run(() => signInBeside(id))}
              />
            ))}
          </div>
        )}
      </Shown>
      <FailureNote failure={action.failure} />
      <FormActions action="Continue" disabled={action.isBusy} onClose={() => onSettled(false)} />
    </form>
  );
}

export function SecondFactorField(field: { value: string; onValue(code: string): void }) {
  if (currentUser.value?.second_factor !== true) return null;
  return (
    <TextField
      label="Code"
      name="code"
      autocomplete="one-time-code"
      required
      hint="From the app, or a recovery code"
      {...field}
    />
  );
}

export const proofBody = (password: string, code: string): { password: string; code?: string } =>
  currentUser.value?.second_factor === true ? { password, code: code.trim() } : { password };
