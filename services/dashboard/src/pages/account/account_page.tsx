import type { VNode } from 'preact';
import type { PageProps } from '../../page_spec.ts';
import { place, setQuery } from '../../router.ts';
import { Empty } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { mayAt, mayInAccount } from '../../who.ts';
import { Analysts } from './analysts.tsx';
import { AuditList } from './audit_list.tsx';
import { Members } from './members.tsx';
import { OwnSignIn } from './own_sign_in.tsx';
import { Tokens } from './tokens.tsx';
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
      label="Of the account"
      tabs={tabs}
      chosen={place.value.query.get('view') ?? 'usage'}
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
    <Empty title="Usage is counted for a whole account">
      Your roles are of single sites. Those with a role in the whole account see what it used.
    </Empty>
  );
}

function ForManagers(): VNode {
  return (
    <Empty title="Your role does not include this">
      Owners and admins see it, each for the sites and accounts where they are that. One of them can give you a role.
    </Empty>
  );
}
