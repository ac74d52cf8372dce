import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { randomPassword } from '#pipelines/settings/random_text.ts';
import type { UserItem } from '#services/control_api/user_shapes.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { sites } from '../../site_list.ts';
import { Badge } from '../../ui/badge.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import { FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { who } from '../../who.ts';
import { type GrantItem, isGivable } from './grant_form.ts';
import { GrantList } from './grant_list.tsx';
import { HandedOver } from './handed_over.tsx';
import { InviteMember } from './invite_member.tsx';
import { browserBytes, changeMember, endSessionsOf, sessionsOf } from './member_requests.ts';
import { SessionTable } from './session_table.tsx';

interface MemberProps {
  member: UserItem;
  onChanged(): void;
}

/** One user: roles, name, sessions, a new password, and whether they may sign in. */
export function MemberDialog({ member, onChanged, onClose }: MemberProps & { onClose(): void }): VNode {
  const { user_id, name, disabled_at, created_at, second_factor } = member;
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
        <Roles key={member.version} member={member} onChanged={onChanged} />
        <hr />
        {isManaged ? (
          <>
            <Name key={member.version} member={member} onChanged={onChanged} />
            <hr />
            <Sessions member={member} onChanged={onChanged} />
            <hr />
            <InviteMember userId={user_id} />
            <SignIn member={member} onChanged={onChanged} />
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
  const [grants, setGrants] = useState<GrantItem[]>(member.grants);
  const action = useAction();
  const save = async (): Promise<void> => {
    const changed = await action.run(() => changeMember(member, { grants }));
    if (changed === null) return;
    toast(`The roles of ${member.user_id} were changed`);
    onChanged();
  };
  return (
    <div class="stack-small">
      <GrantList label="Roles" permission="users.manage" grants={grants} onGrants={setGrants} />
      {member.has_other_grants && <p class="muted">They also have roles where you do not manage users.</p>}
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <div class="actions">
        <button
          type="button"
          class="button primary"
          disabled={action.isBusy || grants === member.grants}
          onClick={() => void save()}
        >
          Save the roles
        </button>
      </div>
    </div>
  );
}

function Name({ member, onChanged }: MemberProps): VNode {
  const [name, setName] = useState(member.name);
  const action = useAction();
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const changed = await action.run(() => changeMember(member, { name: name.trim() }));
    if (changed === null) return;
    toast('Saved the name');
    onChanged();
  };
  return (
    <form class="form-row" onSubmit={(event) => void save(event)}>
      <TextField label="Name" required problem={problemOf(action.failure, 'name')} value={name} onValue={setName} />
      <div class="field-button">
        <button type="submit" class="button" disabled={action.isBusy || name.trim() === member.name}>
          Save the name
        </button>
      </div>
      {action.failure !== null && action.failure.problems.length === 0 && <FailureNote failure={action.failure} />}
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

const QUESTIONS = {
  password: {
    title: 'Give a new password?',
    action: 'Give a new password',
    text: 'The one they have stops at once, and their sessions end. The new one is shown once.',
  },
  factor: {
    title: 'Remove the second factor?',
    action: 'Remove',
    text: 'As of a lost phone: the password alone signs in until they set up another one.',
  },
  disable: {
    title: 'Disable the user?',
    action: 'Disable',
    text: 'Nobody signs in as them any more, and their sessions end at once. They can be enabled again.',
  },
} as const;

function SignIn({ member, onChanged }: MemberProps): VNode {
  const [asks, setAsks] = useState<keyof typeof QUESTIONS | null>(null);
  const [password, setPassword] = useState<string | null>(null);
  const action = useAction();
  const change = async (what: keyof typeof QUESTIONS | 'enable'): Promise<void> => {
    const fresh = randomPassword(browserBytes);
    const bodies = {
      password: { password: fresh },
      factor: { second_factor: false },
      disable: { disabled: true },
      enable: { disabled: false },
    } as const;
    const changed = await action.run(() => changeMember(member, bodies[what]));
    if (changed === null) return;
    setAsks(null);
    if (what === 'password') setPassword(fresh);
    else toast(`The user ${member.user_id} was changed`);
    onChanged();
  };
  const isDisabled = member.disabled_at !== null;
  if (password !== null) {
    return <HandedOver userId={member.user_id} password={password} onClose={() => setPassword(null)} />;
  }
  return (
    <section class="stack-small" aria-labelledby="member-signs-in">
      <h3 id="member-signs-in">Signing in</h3>
      {asks === null && action.failure !== null && <FailureNote failure={action.failure} />}
      <div class="actions spread">
        <button type="button" class="button" onClick={() => setAsks('password')}>
          Give a new password
        </button>
        {member.second_factor && (
          <button type="button" class="button" onClick={() => setAsks('factor')}>
            Remove the second factor
          </button>
        )}
        {isDisabled ? (
          <button type="button" class="button" disabled={action.isBusy} onClick={() => void change('enable')}>
            Enable
          </button>
        ) : (
          <button type="button" class="button danger" onClick={() => setAsks('disable')}>
            Disable
          </button>
        )}
      </div>
      {asks !== null && (
        <Confirm
          title={QUESTIONS[asks].title}
          action={QUESTIONS[asks].action}
          isDangerous
          isBusy={action.isBusy}
          onConfirm={() => void change(asks)}
          onClose={() => setAsks(null)}
        >
          <p>{QUESTIONS[asks].text}</p>
          {action.failure !== null && <FailureNote failure={action.failure} />}
        </Confirm>
      )}
    </section>
  );
}
