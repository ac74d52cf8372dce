import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { randomPassword } from '#pipelines/settings/secrets.ts';
import type { UserItem } from '#services/control_api/users.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import type { GrantItem } from './grant_form.ts';
import { GrantList } from './grant_list.tsx';
import { HandedOver } from './handed_over.tsx';
import { browserBytes } from './member_requests.ts';

/** Makes a user with a password of random letters and digits, which is shown once. */
export function NewMember({ onMade, onClose }: { onMade(): void; onClose(): void }): VNode {
  const [userId, setUserId] = useState('');
  const [name, setName] = useState('');
  const [grants, setGrants] = useState<GrantItem[]>([]);
  const [password, setPassword] = useState<string | null>(null);
  const action = useAction();
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    const fresh = randomPassword(browserBytes);
    const body = {
      ...{ user_id: userId.trim(), grants, password: fresh },
      ...(name.trim() !== '' && { name: name.trim() }),
    };
    const made = await action.run(() => request<UserItem>('POST', '/v1/admin/users', { body }));
    if (made === null) return;
    setPassword(fresh);
    onMade();
  };
  if (password !== null) {
    const id = userId.trim();
    return <HandedOver title={`The user ${id} was made`} userId={id} password={password} onClose={onClose} />;
  }
  return (
    <Dialog title="Add a user" isChanged={userId + name !== '' || grants.length > 0} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void make(event)}>
        <TextField
          label="User id"
          required
          hint="They sign in with it, and it stands beside what they change. Small letters, digits, - and _; no e-mail address."
          problem={problemOf(action.failure, 'user_id')}
          value={userId}
          onValue={setUserId}
        />
        <TextField
          label="Name"
          hint="What people know them by"
          problem={problemOf(action.failure, 'name')}
          value={name}
          onValue={setName}
        />
        <GrantList label="Roles" permission="users.manage" grants={grants} onGrants={setGrants} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        {grants.length === 0 && <p class="muted small">A user needs a role: choose one, and “Give the role”.</p>}
        <FormActions action="Add" disabled={action.isBusy || grants.length === 0} onClose={onClose} />
      </form>
    </Dialog>
  );
}
