import { PASSWORD_RULE } from '#pipelines/settings/secrets.ts';
import type { SessionList } from '#services/control_api/users.ts';
import { request } from '../../api/request.ts';
import { useGet, useMutation, useQuery } from '../../api/use_answer.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { currentUser, linkAt, mayAt, mayInAccount, readProviders, readSession } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { toast } from '../../ui/dialog.tsx';
import { ActionForm, PasswordField, TextField, useDraft } from '../../ui/form_fields.tsx';
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

export default function AccountPage(_props: PageProps) {
  const tabs = [
    {
      id: 'usage',
      label: 'Usage',
      content: () => (mayInAccount('account.read', null) ? <Usage /> : USAGE_ELSEWHERE),
    },
    { id: 'members', label: 'Members', content: () => (mayAt('users.manage', null) ? <Members /> : FOR_MANAGERS) },
    { id: 'tokens', label: 'Tokens', content: () => (mayAt('tokens.manage', null) ? <Access /> : FOR_MANAGERS) },
    { id: 'audit', label: 'Audit', content: () => (mayAt('audit.read', null) ? <AuditList /> : FOR_MANAGERS) },
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

const Access = () => (
  <div class="stack">
    <Tokens />
    <Analysts />
  </div>
);

const USAGE_ELSEWHERE = (
  <Empty title="Usage is shown per account">
    Your roles are limited to single sites. A role in the whole account is needed.
  </Empty>
);

const FOR_MANAGERS = (
  <Empty title="You do not have access to this">
    Owners and admins of a site or account do. Ask one of them for a role.
  </Empty>
);

function OwnSignIn() {
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

function OwnSessions() {
  const asked = useGet<SessionList>('/v1/sessions');
  const action = useMutation();
  const end = ({ id }: SessionList['items'][number]) =>
    action.run(
      () => request<object>('DELETE', `/v1/sessions/${id}`),
      () => {
        toast('The session was ended');
        asked.again();
      },
    );
  return (
    <Panel title="Your sessions" note="End sessions that you do not recognise, then change your password.">
      <div class="stack-small">
        <FailureNote failure={action.failure} />
        <Shown asked={asked}>
          {({ items }) => <SessionTable sessions={items} isBusy={action.isBusy} onEnd={end} />}
        </Shown>
      </div>
    </Panel>
  );
}

function OwnPassword() {
  const { draft, field, reset } = useDraft({ password: '', code: '', fresh: '' });
  const body = { ...proofBody(draft.password, draft.code), new_password: draft.fresh };
  return (
    <Panel title="Password" note="Changing it ends your other sessions.">
      <ActionForm
        action="Change password"
        kind={null}
        run={() => request<object>('POST', '/v1/session/password', { body })}
        onDone={() => {
          reset();
          toast('Your password was changed');
        }}
      >
        {(failure) => (
          <>
            <PasswordField label="Current password" {...field(null)('password')} />
            <SecondFactorField {...field(null)('code')} />
            <TextField
              label="New password"
              type="password"
              autocomplete="new-password"
              required
              hint={PASSWORD_RULE}
              {...field(failure)('fresh', 'new_password')}
            />
          </>
        )}
      </ActionForm>
    </Panel>
  );
}

/** Accounts at providers that sign the person in; nothing where there are neither providers nor links. */
function ProviderLinks() {
  const asked = useQuery('providers', readProviders);
  const { draft, field, reset } = useDraft({ password: '', code: '' });
  const action = useMutation();
  const providers = asked.value?.items ?? [];
  const links = currentUser.value?.provider_links ?? 0;
  if (providers.length === 0 && links === 0) return null;
  const proof = proofBody(draft.password, draft.code);
  const unlink = () =>
    action.run(
      () => request<object>('POST', '/v1/session/oidc/unlink', { body: proof }),
      () => {
        reset();
        toast('All provider accounts were unlinked');
        void readSession();
      },
    );
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
        <PasswordField required={false} hint="Leave empty if you have none" {...field(null)('password')} />
        <SecondFactorField {...field(null)('code')} />
        <FailureNote failure={action.failure} />
        <div class="actions">
          {links > 0 && <Button label="Unlink all" disabled={action.isBusy} onClick={unlink} />}
          {providers.map(({ id, label }) => (
            <Button
              key={id}
              label={`Link your ${label} account`}
              disabled={action.isBusy}
              onClick={() => action.run(() => linkAt(id, draft.password === '' ? {} : proof))}
            />
          ))}
        </div>
      </form>
    </Panel>
  );
}
