import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { linkAt, readProviders } from '../../api/providers.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { readSession, who } from '../../who.ts';
import { CodeOfProof, proofBody } from '../sign_in/code_of_proof.tsx';

/** Accounts at providers that sign the person in; nothing where there are neither providers nor links. */
export function ProviderLinks(): VNode | null {
  const asked = useAnswer('providers', readProviders);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const action = useAction();
  const providers = asked.value?.items ?? [];
  const links = who.value?.provider_links ?? 0;
  if (providers.length === 0 && links === 0) return null;
  const unlink = async (): Promise<void> => {
    const body = proofBody(password, code);
    const done = await action.run(() => request<object>('POST', '/v1/session/oidc/unlink', { body }));
    if (done === null) return;
    setPassword('');
    setCode('');
    toast('Only your password signs you in now');
    void readSession();
  };
  return (
    <Panel
      title="Sign-in at a provider"
      note="In place of the password and its second factor; the provider asks for its own."
    >
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <p>
          {links === 0
            ? 'No account is linked.'
            : links === 1
              ? 'One account is linked.'
              : `${links} accounts are linked.`}
        </p>
        <TextField
          label="Your password"
          type="password"
          autocomplete="current-password"
          hint="Empty where you have none"
          value={password}
          onValue={setPassword}
        />
        <CodeOfProof code={code} onCode={setCode} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <div class="actions">
          {links > 0 && (
            <button type="button" class="button" disabled={action.isBusy} onClick={() => void unlink()}>
              Unlink all
            </button>
          )}
          {providers.map(({ id, label }) => (
            <button
              key={id}
              type="button"
              class="button"
              disabled={action.isBusy}
              onClick={() => void action.run(() => linkAt(id, password === '' ? {} : proofBody(password, code)))}
            >
              Link your account at {label}
            </button>
          ))}
        </div>
      </form>
    </Panel>
  );
}
