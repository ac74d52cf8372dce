import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from '../../api/request.ts';
import { useMutation } from '../../api/use_answer.ts';
import { currentUser, readSession } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, toast, useLoss } from '../../ui/dialog.tsx';
import { ActionForm, PasswordField, TextField, useDraft } from '../../ui/form_fields.tsx';
import { CopyButton } from '../../ui/identifiers.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';

/** All that somebody sees whose role takes a second factor, until they have one. */
export default function SecondFactorPage() {
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

export function SecondFactor() {
  const [begun, setBegun] = useState<NewFactor | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const action = useMutation();
  const begin = () => action.run(() => request<NewFactor>('POST', '/v1/session/totp/begin', { body: {} }), setBegun);
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
          <FailureNote failure={action.failure} />
          <div class="actions">
            <Button label="Set up" disabled={action.isBusy} onClick={begin} />
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

const NOTHING = { code: '', password: '' };

function Confirming({ begun, onCodes, onClose }: ConfirmingProps) {
  const { draft, field } = useDraft(NOTHING);
  const body = { ...draft, code: draft.code.trim() };
  return (
    <ActionForm
      action="Turn on"
      run={() => request<{ recovery_codes: string[] }>('POST', '/v1/session/totp/confirm', { body })}
      onDone={({ recovery_codes }) => onCodes(recovery_codes)}
      onClose={onClose}
    >
      {() => (
        <>
          <p>
            Scan this with your authenticator app, or add the secret below manually or{' '}
            <a href={begun.uri}>by opening it there</a>, then enter the code that the app shows.
          </p>
          <LazyQrCode text={begun.uri} label="The secret, to scan" />
          <div class="secret">
            <code>{begun.secret}</code>
            <CopyButton text={begun.secret} what="secret" />
          </div>
          <TextField label="Code" autocomplete="one-time-code" inputMode="numeric" required {...field(null)('code')} />
          <PasswordField {...field(null)('password')} />
        </>
      )}
    </ActionForm>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose(): void }) {
  useLoss(true);
  return (
    <Dialog title="Your recovery codes" staysOpen onClose={onClose}>
      <p>Store these codes away from your phone. Each replaces one code of the app, once. They are shown only once.</p>
      <pre class="block">{codes.join('\n')}</pre>
      <div class="actions">
        <CopyButton text={codes.join('\n')} what="recovery codes" />
        <Button kind="primary" label="I have copied them" onClick={onClose} />
      </div>
    </Dialog>
  );
}

function Removing() {
  const { draft, field } = useDraft(NOTHING);
  const body = { ...draft, code: draft.code.trim() };
  return (
    <ActionForm
      action="Remove the second factor"
      kind="danger"
      run={() => request<object>('POST', '/v1/session/totp/remove', { body })}
      onDone={() => {
        toast('The second factor was removed');
        void readSession();
      }}
    >
      {() => (
        <>
          <p>Two-factor authentication is on.</p>
          <PasswordField {...field(null)('password')} />
          <TextField
            label="Code"
            autocomplete="one-time-code"
            required
            hint="From the app, or a recovery code"
            {...field(null)('code')}
          />
        </>
      )}
    </ActionForm>
  );
}

interface CodeProps {
  text: string;
  label: string;
}

/** A QR code whose code is fetched with it. Where that fails there is none: the text stands beside it. */
function LazyQrCode(props: CodeProps) {
  const [Code, setCode] = useState<ComponentType<CodeProps> | null>(null);
  useEffect(() => {
    import('./qr_code.tsx').then(
      (module) => setCode(() => module.default),
      () => undefined,
    );
  }, []);
  return Code === null ? <div class="qr-code" /> : <Code {...props} />;
}
