import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { PASSWORD_RULE } from '#pipelines/settings/secrets.ts';
import type { SessionList } from '#services/control_api/users.ts';
import { request } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import type { PageProps } from '../../page_spec.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { currentUser, linkAt, mayAt, mayInAccount, readProviders, readSession } from '../../session.ts';
import { toast } from '../../ui/dialog.tsx';
import { problemOf, submitHandler, TextField } from '../../ui/form_fields.tsx';
import { Empty, FailureNote, Panel, Shown, Tabs } from '../../ui/panel.tsx';
import { AuditList } from '../audit/audit_log.tsx';
import { Tokens } from '../members/access_tokens.tsx';
import { Analysts } from '../members/analysts.tsx';
import { grantText } from '../members/grants.ts';
import { SessionTable } from '../members/member_grants.tsx';
import { Members } from '../members/members.tsx';
import { proofBody, SecondFactorField } from '../sign_in/sign_in.tsx';
import { SecondFactor } from './second_factor_page.tsx';
import { Usage } from './usage.tsx';

/** Accounts and their allowance, who may what, who changed what, the tokens of programs, and how the person signs in. */
export default function AccountPage(_props: PageProps): VNode {
  const tabs = [
    {
      id: 'usage',
      label: 'Usage',
      content: () => (mayInAccount('account.read', null) ? <Usage /> : <UsageElsewhere />),
    },
    { id: 'members', label: 'Members', content: () => (mayAt('users.manage', null) ? <Members /> : <ForManagers />) },
    { id: 'tokens', label: 'Tokens', content: () => (mayAt('tokens.manage', null) ? <Access /> : <ForManagers />) },
    { id: 'audit', label: 'Audit', content: () => (mayAt('audit.read', null) ? <AuditList /> : <ForManagers />) },
    { id: 'you', label: 'You', content: () => <OwnSignIn /> },
  ];
  return (
    <Tabs
      label="Account"
      tabs={tabs}
      chosen={currentLocation.value.query.get('view') ?? 'usage'}
      onChosen={(view) => setQuery({ view: view === 'usage' ? null : view })}
    />
  );
}

function Access(): VNode {
  return (
    <div class="stack">
      <Tokens />
      <Analysts />
    </div>
  );
}

function UsageElsewhere(): VNode {
  return (
    <Empty title="Usage is shown per account">
      Your roles are limited to single sites. A role in the whole account is needed.
    </Empty>
  );
}

function ForManagers(): VNode {
  return (
    <Empty title="You do not have access to this">
      Owners and admins of a site or account do. Ask one of them for a role.
    </Empty>
  );
}

/** How the person signs in, where they are signed in, and what they may. */
function OwnSignIn(): VNode {
  const me = currentUser.value;
  if (me === null) return <Empty title="Not signed in" />;
  return (
    <div class="stack">
      <Panel title={me.name === me.id ? me.id : `${me.name} (${me.id})`} note="Your roles. Admins can change them.">
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
  const asked = useQuery('own sessions', (signal) => request<SessionList>('GET', '/v1/sessions', { signal }));
  const action = useMutation();
  const end = async (id: string): Promise<void> => {
    const ended = await action.run(() => request<object>('DELETE', `/v1/sessions/${id}`));
    if (ended === null) return;
    toast('The session was ended');
    asked.again();
  };
  return (
    <Panel title="Your sessions" note="End sessions that you do not recognise, then change your password.">
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
  const action = useMutation();
  const change = async (): Promise<void> => {
    const body = { ...proofBody(password, code), new_password: fresh };
    const changed = await action.run(() => request<object>('POST', '/v1/session/password', { body }));
    if (changed === null) return;
    setPassword('');
    setCode('');
    setFresh('');
    toast('Your password was changed');
  };
  return (
    <Panel title="Password" note="Changing it ends your other sessions.">
      <form class="stack" onSubmit={submitHandler(() => void change())}>
        <TextField
          label="Current password"
          type="password"
          autocomplete="current-password"
          required
          value={password}
          onValue={setPassword}
        />
        <SecondFactorField code={code} onCode={setCode} />
        <TextField
          label="New password"
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
            Change password
          </button>
        </div>
      </form>
    </Panel>
  );
}

/** Accounts at providers that sign the person in; nothing where there are neither providers nor links. */
function ProviderLinks(): VNode | null {
  const asked = useQuery('providers', readProviders);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const action = useMutation();
  const providers = asked.value?.items ?? [];
  const links = currentUser.value?.provider_links ?? 0;
  if (providers.length === 0 && links === 0) return null;
  const unlink = async (): Promise<void> => {
    const body = proofBody(password, code);
    const done = await action.run(() => request<object>('POST', '/v1/session/oidc/unlink', { body }));
    if (done === null) return;
    setPassword('');
    setCode('');
    toast('All provider accounts were unlinked');
    void readSession();
  };
  return (
    <Panel title="Single sign-on" note="Instead of your password and second factor; the provider may ask for its own.">
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
          hint="Leave empty if you have none"
          value={password}
          onValue={setPassword}
        />
        <SecondFactorField code={code} onCode={setCode} />
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
              Link your {label} account
            </button>
          ))}
        </div>
      </form>
    </Panel>
  );
}
