import type { VNode } from 'preact';
import type { UserItem } from '#services/control_api/users.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { useEditing } from '../../editing/use_editing.ts';
import { dateTime } from '../../format.ts';
import { sites } from '../../site_list.ts';
import { Badge } from '../../ui/badge.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import { FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { who } from '../../who.ts';
import { type GrantItem, isGivable } from './grant_form.ts';
import { GrantList } from './grant_list.tsx';
import { InviteMember } from './invite_member.tsx';
import { useIssuedTokens } from './issued_tokens.ts';
import { MemberAnalysts } from './member_analysts.tsx';
import { memberText } from './member_facts.ts';
import { changeMember, endSessionsOf, readMember, sessionsOf } from './member_requests.ts';
import { MemberSignIn } from './member_sign_in.tsx';
import { MemberTokens } from './member_tokens.tsx';
import { SessionTable } from './session_table.tsx';

interface MemberProps {
  member: UserItem;
  onChanged(): void;
}

/** One user: roles, name, sessions, a new password, and whether they may sign in. */
export function MemberDialog({ member, onChanged, onClose }: MemberProps & { onClose(): void }): VNode {
  const { user_id, name, disabled_at, created_at, second_factor } = member;
  const issued = useIssuedTokens(user_id);
  const giver = who.value?.grants ?? [];
  const known = sites.value ?? [];
  const isManaged =
    !member.has_other_grants && member.grants.every((grant) => isGivable(giver, grant, 'users.manage', known));
  return (
    <Dialog title={name === user_id ? user_id : `${name} (${user_id})`} kind="side" onClose={onClose}>
      <div class="stack">
        <p>
          <Badge kind={disabled_at === null ? 'good' : 'plain'}>
            {disabled_at === null ? 'Active' : `Disabled ${dateTime(disabled_at)}`}
          </Badge>
        </p>
        <dl class="facts">
          <dt>Made</dt>
          <dd>{dateTime(created_at)}</dd>
          <dt>Signs in by</dt>
          <dd>{signsInBy(member)}</dd>
          <dt>Second factor</dt>
          <dd>{second_factor ? `Yes, with ${member.recovery_codes_left} recovery codes left` : 'No'}</dd>
        </dl>
        <Roles member={member} onChanged={onChanged} />
        <hr />
        {isManaged ? (
          <>
            <Name member={member} onChanged={onChanged} />
            <hr />
            <Sessions member={member} onChanged={onChanged} />
            <hr />
            <InviteMember userId={user_id} />
            <MemberSignIn member={member} issued={issued} onChanged={onChanged} />
            <hr />
            <MemberTokens member={member} issued={issued} />
            <MemberAnalysts member={member} />
          </>
        ) : (
          <p class="muted">
            Their name, password, second factor and sessions are in the hands of those who could give all that this user
            may; that is more than your role gives.
          </p>
        )}
      </div>
    </Dialog>
  );
}

const signsInBy = ({ has_password, provider_links: links }: UserItem): string =>
  [...(has_password ? ['a password'] : []), ...(links > 0 ? [`${links} linked at a provider`] : [])].join(', ') ||
  'nothing yet';

function Roles({ member, onChanged }: MemberProps): VNode {
  const form = useEditing<UserItem, { roles: GrantItem[] }>({
    item: member,
    draftOf: ({ grants }) => ({ roles: grants }),
    read: () => readMember(member.user_id),
    write: ({ roles }, base) => changeMember(base, { grants: roles }),
    onSaved() {
      toast(`The roles of ${member.user_id} were changed`);
      onChanged();
    },
    onTheirs: onChanged,
  });
  useUnsaved(form.isChanged);
  return (
    <div class="stack-small">
      <GrantList
        label="Roles"
        permission="users.manage"
        grants={form.draft.roles}
        onGrants={(roles) => form.edit({ roles })}
      />
      {member.has_other_grants && <p class="muted">They also have roles where you do not manage users.</p>}
      {form.failure !== null && <FailureNote failure={form.failure} />}
      <div class="actions">
        <button
          type="button"
          class="button primary"
          disabled={form.isBusy || !form.isChanged}
          onClick={() => void form.save()}
        >
          Save the roles
        </button>
      </div>
      <ConflictDialog saving={form} what={member.user_id} textOf={memberText} />
    </div>
  );
}

function Name({ member, onChanged }: MemberProps): VNode {
  const form = useEditing<UserItem, { name: string }>({
    item: member,
    draftOf: ({ name }) => ({ name }),
    read: () => readMember(member.user_id),
    write: ({ name }, base) => changeMember(base, { name: name.trim() }),
    onSaved() {
      toast('Saved the name');
      onChanged();
    },
    onTheirs: onChanged,
  });
  useUnsaved(form.isChanged);
  return (
    <form
      class="form-row"
      onSubmit={(event) => {
        event.preventDefault();
        void form.save();
      }}
    >
      <TextField
        label="Name"
        required
        problem={problemOf(form.failure, 'name')}
        value={form.draft.name}
        onValue={(name) => form.edit({ name })}
      />
      <div class="field-button">
        <button type="submit" class="button" disabled={form.isBusy || !form.isChanged}>
          Save the name
        </button>
      </div>
      {form.failure !== null && form.failure.problems.length === 0 && <FailureNote failure={form.failure} />}
      <ConflictDialog saving={form} what={member.user_id} />
    </form>
  );
}

function Sessions({ member, onChanged }: MemberProps): VNode {
  const asked = useAnswer(member.user_id, (signal) => sessionsOf(member.user_id, signal));
  const action = useAction();
  const end = async (): Promise<void> => {
    const ended = await action.run(() => endSessionsOf(member.user_id));
    if (ended === null) return;
    toast(`The sessions of ${member.user_id} were ended`);
    asked.again();
    onChanged();
  };
  return (
    <section class="stack-small" aria-labelledby="member-sessions">
      <h3 id="member-sessions">Sessions</h3>
      <Shown asked={asked}>
        {({ items }) => (
          <>
            <SessionTable sessions={items} />
            {action.failure !== null && <FailureNote failure={action.failure} />}
            {items.length > 0 && (
              <div class="actions">
                <button type="button" class="button" disabled={action.isBusy} onClick={() => void end()}>
                  End all sessions
                </button>
              </div>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}
