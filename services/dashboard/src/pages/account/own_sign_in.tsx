import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { PASSWORD_RULE } from '#pipelines/settings/secrets.ts';
import type { SessionList } from '#services/control_api/users.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { who } from '../../who.ts';
import { CodeOfProof, proofBody } from '../sign_in/code_of_proof.tsx';
import { grantText } from './grant_form.ts';
import { ProviderLinks } from './provider_links.tsx';
import { SecondFactor } from './second_factor.tsx';
import { SessionTable } from './session_table.tsx';

/** How the person signs in, where they are signed in, and what they may. */
export function OwnSignIn(): VNode {
  const me = who.value;
  if (me === null) return <Empty title="Nobody is signed in" />;
  return (
    <div class="stack">
      <Panel
        title={me.name === me.id ? me.id : `${me.name} (${me.id})`}
        note="What you may. Whoever manages members changes it."
      >
        <ul class="lines">
          {me.grants.map((grant) => (
            <li key={grantText(grant)}>{grantText(grant)}</li>
          ))}
        </ul>
      </Panel>
      <OwnSessions />
      <div class="columns">
        <OwnPassword />
        <SecondFactor />
        <ProviderLinks />
      </div>
    </div>
  );
}

function OwnSessions(): VNode {
  const asked = useAnswer('own sessions', (signal) => request<SessionList>('GET', '/v1/sessions', { signal }));
  const action = useAction();
  const end = async (id: string): Promise<void> => {
    const ended = await action.run(() => request<object>('DELETE', `/v1/sessions/${id}`));
    if (ended === null) return;
    toast('The session was ended');
    asked.again();
  };
  return (
    <Panel title="Your sessions" note="End those that you do not know, and change your password then.">
      <div class="stack-small">
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <Shown asked={asked}>
          {({ items }) => (
            <SessionTable sessions={items} isBusy={action.isBusy} onEnd={(session) => void end(session.id)} />
          )}
        </Shown>
      </div>
    </Panel>
  );
}

function OwnPassword(): VNode {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [fresh, setFresh] = useState('');
  const action = useAction();
  const change = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = { ...proofBody(password, code), new_password: fresh };
    const changed = await action.run(() => request<object>('POST', '/v1/session/password', { body }));
    if (changed === null) return;
    setPassword('');
    setCode('');
    setFresh('');
    toast('Your password was changed');
  };
  return (
    <Panel title="Password" note="Your other sessions end when it is changed.">
      <form class="stack" onSubmit={(event) => void change(event)}>
        <TextField
          label="The password as it is"
          type="password"
          autocomplete="current-password"
          required
          value={password}
          onValue={setPassword}
        />
        <CodeOfProof code={code} onCode={setCode} />
        <TextField
          label="A new password"
          type="password"
          autocomplete="new-password"
          required
          hint={PASSWORD_RULE}
          problem={problemOf(action.failure, 'new_password')}
          value={fresh}
          onValue={setFresh}
        />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <div class="actions">
          <button type="submit" class="button" disabled={action.isBusy}>
            Change the password
          </button>
        </div>
      </form>
    </Panel>
  );
}
