import { useState } from 'preact/hooks';
import { randomPassword } from '#pipelines/settings/secrets.ts';
import type { UserItem } from '#services/control_api/users.ts';
import { type ApiResult, request } from '../../api/request.ts';
import { useList } from '../../api/use_answer.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { currentUser } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { CreateDialog } from '../../ui/confirm_action.tsx';
import { type Column, DataTable, openColumn, stateColumn, timeColumn } from '../../ui/data_table.tsx';
import { SelectField, TextField, useDraft } from '../../ui/form_fields.tsx';
import { Panel, Shown } from '../../ui/panel.tsx';
import { type GrantItem, grantsAt, grantText, placeOptions, roleCounts } from './grants.ts';
import { MemberDialog } from './member_dialog.tsx';
import { browserBytes, GrantList, HandoverNote } from './member_grants.tsx';

const ANYWHERE = 'anywhere';

export function Members() {
  const asked = useList<UserItem>('/v1/admin/users');
  const [adds, setAdds] = useState(false);
  const { query } = currentLocation.value;
  const at = query.get('at') ?? ANYWHERE;
  const places = placeOptions(currentUser.value?.grants ?? [], 'users.manage', sites.value ?? []);
  const chosen = asked.value?.items.find(({ user_id }) => user_id === query.get('user'));
  return (
    <Panel
      title="Members"
      note="Users with a role that you manage. Users are disabled, not removed, so that the audit log can still name them."
      actions={<Button kind="primary" label="Add a user" onClick={() => setAdds(true)} />}
    >
      <div class="stack">
        <div class="form-row">
          <SelectField
            label="Has a role in"
            options={[{ value: ANYWHERE, label: 'Any scope' }, ...places]}
            value={at}
            onValue={(value) => setQuery({ at: value === ANYWHERE ? null : value })}
          />
        </div>
        <Shown asked={asked}>{({ items }) => <MemberTable items={items} at={at} />}</Shown>
      </div>
      {adds && <NewMember onMade={asked.again} onClose={() => setAdds(false)} />}
      {chosen !== undefined && (
        <MemberDialog
          key={chosen.user_id}
          member={chosen}
          onChanged={asked.again}
          onClose={() => setQuery({ user: null }, 'push')}
        />
      )}
    </Panel>
  );
}

function MemberTable({ items, at }: { items: readonly UserItem[]; at: string }) {
  const known = sites.value ?? [];
  const there = items
    .map((item) => ({ item, grants: at === ANYWHERE ? item.grants : grantsAt(item.grants, at, known) }))
    .filter(({ grants }) => at === ANYWHERE || grants.length > 0);
  return (
    <>
      <p class="muted">{roleCounts(there.map(({ item, grants }) => ({ grants, disabled_at: item.disabled_at })))}</p>
      <DataTable
        caption="List of members"
        columns={COLUMNS}
        rows={there.map(({ item }) => item)}
        keyOf={({ user_id }) => user_id}
        csvName="members"
        emptyText="No one has a role there"
      />
    </>
  );
}

const rolesOf = ({ grants, has_other_grants }: UserItem): string =>
  [...grants.map(grantText), ...(has_other_grants ? ['and elsewhere'] : [])].join(', ');

const COLUMNS: readonly Column<UserItem>[] = [
  openColumn({
    ...{ id: 'user', title: 'User', value: ({ user_id }) => user_id },
    open: ({ user_id }) => setQuery({ user: user_id }, 'push'),
  }),
  { id: 'name', title: 'Name', value: ({ name }) => name },
  { id: 'roles', title: 'Roles', value: rolesOf },
  stateColumn('state', 'State', ({ disabled_at }) =>
    disabled_at === null ? { label: 'Active', badge: 'good' } : { label: 'Disabled', badge: 'plain' },
  ),
  { id: 'factor', title: 'Second factor', value: ({ second_factor }) => (second_factor ? 'Yes' : 'No') },
  timeColumn('created', 'Created', ({ created_at }) => created_at),
];

const NEW = { userId: '', name: '', grants: [] as GrantItem[] };

/** Makes a user with a password of random letters and digits, which is shown once. */
function NewMember({ onMade, onClose }: { onMade(): void; onClose(): void }) {
  const { draft, edit, isChanged, field } = useDraft(NEW);
  const { grants } = draft;
  const [id, name] = [draft.userId.trim(), draft.name.trim()];
  const make = async (): Promise<ApiResult<string>> => {
    const password = randomPassword(browserBytes);
    const body = { user_id: id, grants, password, ...(name !== '' && { name }) };
    const made = await request<UserItem>('POST', '/v1/admin/users', { body });
    return made.ok ? { ...made, value: password } : made;
  };
  return (
    <CreateDialog
      title="Add a user"
      action="Add"
      isChanged={isChanged}
      isReady={grants.length > 0}
      run={make}
      onMade={onMade}
      onClose={onClose}
      issued={(password) => (
        <HandoverNote title={`The user ${id} was created`} userId={id} password={password} onClose={onClose} />
      )}
    >
      {(failure) => (
        <>
          <TextField
            label="User id"
            required
            hint="Used to sign in, and shown beside their changes. Lowercase letters, digits, - and _; no e-mail address."
            {...field(failure)('userId', 'user_id')}
          />
          <TextField label="Name" hint="Display name" {...field(failure)('name')} />
          <GrantList
            label="Roles"
            permission="users.manage"
            grants={grants}
            onGrants={(chosen) => edit({ grants: chosen })}
          />
          {grants.length === 0 && <p class="muted small">A user needs a role: choose one, and press “Add role”.</p>}
        </>
      )}
    </CreateDialog>
  );
}
