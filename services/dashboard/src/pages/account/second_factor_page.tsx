import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from '../../api/request.ts';
import { useMutation } from '../../api/use_answer.ts';
import { currentUser, readSession } from '../../session.ts';
import { Dialog, toast, useLoss } from '../../ui/dialog.tsx';
import { FormActions, submitHandler, TextField } from '../../ui/form_fields.tsx';
import { CopyButton } from '../../ui/identifiers.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';

/** All that somebody sees whose role takes a second factor, until they have one. */
export default function SecondFactorPage(): VNode {
  return (
    <div class="stack">
      <p>Your role requires two-factor authentication. Set up an authenticator app to continue.</p>
      <SecondFactor />
    </div>
  );
}

interface NewFactor {
  secret: string;
  uri: string;
}

/** Sets up the codes of an authenticator app beside the password, or removes them. */
export function SecondFactor(): VNode {
  const [begun, setBegun] = useState<NewFactor | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const action = useMutation();
  const begin = async (): Promise<void> => {
    setBegun(await action.run(() => request<NewFactor>('POST', '/v1/session/totp/begin', { body: {} })));
  };
  const close = (): void => {
    setBegun(null);
    setCodes(null);
    void readSession();
  };
  return (
    <Panel title="Second factor" note="A code from an authenticator app, in addition to the password.">
      {codes !== null ? (
        <RecoveryCodes codes={codes} onClose={close} />
      ) : begun !== null ? (
        <Confirming begun={begun} onCodes={setCodes} onClose={() => setBegun(null)} />
      ) : currentUser.value?.second_factor === true ? (
        <Removing />
      ) : (
        <div class="stack">
          <p>Two-factor authentication is off.</p>
          {action.failure !== null && <FailureNote failure={action.failure} />}
          <div class="actions">
            <button type="button" class="button" disabled={action.isBusy} onClick={() => void begin()}>
              Set up
            </button>
          </div>
        </div>
      )}
    </Panel>
  );
}

interface ConfirmingProps {
  begun: NewFactor;
  onCodes(codes: readonly string[]): void;
  onClose(): void;
}

function Confirming({ begun, onCodes, onClose }: ConfirmingProps): VNode {
  const [code, setCode] = useState('');
  const [password, setPassword] = useState('');
  const action = useMutation();
  const confirm = async (): Promise<void> => {
    const body = { code: code.trim(), password };
    const path = '/v1/session/totp/confirm';
    const confirmed = await action.run(() => request<{ recovery_codes: string[] }>('POST', path, { body }));
    if (confirmed !== null) onCodes(confirmed.recovery_codes);
  };
  return (
    <form class="stack" onSubmit={submitHandler(() => void confirm())}>
      <p>
        Scan this with your authenticator app, or add the secret below manually or{' '}
        <a href={begun.uri}>by opening it there</a>, then enter the code that the app shows.
      </p>
      <LazyQrCode text={begun.uri} label="The secret, to scan" />
      <div class="secret">
        <code>{begun.secret}</code>
        <CopyButton text={begun.secret} what="secret" />
      </div>
      <TextField
        label="Code"
        autocomplete="one-time-code"
        inputMode="numeric"
        required
        value={code}
        onValue={setCode}
      />
      <TextField
        label="Your password"
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onValue={setPassword}
      />
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <FormActions action="Turn on" disabled={action.isBusy} onClose={onClose} />
    </form>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose(): void }): VNode {
  useLoss(true);
  return (
    <Dialog title="Your recovery codes" staysOpen onClose={onClose}>
      <p>Store these codes away from your phone. Each replaces one code of the app, once. They are shown only once.</p>
      <pre class="block">{codes.join('\n')}</pre>
      <div class="actions">
        <CopyButton text={codes.join('\n')} what="recovery codes" />
        <button type="button" class="button primary" onClick={onClose}>
          I have copied them
        </button>
      </div>
    </Dialog>
  );
}

function Removing(): VNode {
  const [code, setCode] = useState('');
  const [password, setPassword] = useState('');
  const action = useMutation();
  const remove = async (): Promise<void> => {
    const body = { password, code: code.trim() };
    const removed = await action.run(() => request<object>('POST', '/v1/session/totp/remove', { body }));
    if (removed === null) return;
    toast('The second factor was removed');
    void readSession();
  };
  return (
    <form class="stack" onSubmit={submitHandler(() => void remove())}>
      <p>Two-factor authentication is on.</p>
      <TextField
        label="Your password"
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onValue={setPassword}
      />
      <TextField
        label="Code"
        autocomplete="one-time-code"
        required
        hint="From the app, or a recovery code"
        value={code}
        onValue={setCode}
      />
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <div class="actions">
        <button type="submit" class="button danger" disabled={action.isBusy}>
          Remove the second factor
        </button>
      </div>
    </form>
  );
}

interface CodeProps {
  text: string;
  label: string;
}

/** A QR code whose code is fetched with it. Where that fails there is none: the text stands beside it. */
function LazyQrCode(props: CodeProps): VNode {
  const [Code, setCode] = useState<ComponentType<CodeProps> | null>(null);
  useEffect(() => {
    import('./qr_code.tsx').then(
      (module) => setCode(() => module.default),
      () => undefined,
    );
  }, []);
  return Code === null ? <div class="qr-code" /> : <Code {...props} />;
}
