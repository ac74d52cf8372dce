import { useState } from 'preact/hooks';
import { randomPassword } from '#pipelines/settings/secrets.ts';
import type {
  ChangedUser,
  Invitation,
  RevokedIssued,
  SessionList,
  TokenItem,
  UserItem,
} from '#services/control_api/users.ts';
import { request } from '../../api/request.ts';
import { type Asked, useGet, useMutation, useQuery } from '../../api/use_answer.ts';
import type { Facts as Compared } from '../../editing/differences.ts';
import { ConflictDialog, useEditForm, useSave } from '../../editing/editing.tsx';
import { dateTime } from '../../format.ts';
import { addressOf } from '../../router.ts';
import { currentUser, mayAt, readProviders } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog, toast, useUnsaved } from '../../ui/dialog.tsx';
import { CheckField, submitHandler, TextField, textFields } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/identifiers.tsx';
import { Badge, Facts, FailureNote, Shown } from '../../ui/panel.tsx';
import { MemberTokens, TokenLines, useIssuedTokens } from './access_tokens.tsx';
import { MemberAnalysts } from './analysts.tsx';
import { type GrantItem, isGivable, memberText, signInFacts } from './grants.ts';
import {
  browserBytes,
  changeMember,
  GrantList,
  HandoverNote,
  type MemberChange,
  readMember,
  SessionTable,
  userPath,
} from './member_grants.tsx';

interface MemberProps {
  member: UserItem;
  onChanged(): void;
}

export function MemberDialog({ member, onChanged, onClose }: MemberProps & { onClose(): void }) {
  const { user_id, name, disabled_at, created_at, second_factor } = member;
  const issued = useIssuedTokens(user_id);
  const giver = currentUser.value?.grants ?? [];
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
        <Facts
          facts={[
            ['Created', dateTime(created_at)],
            ['Sign-in', signsInBy(member)],
            ['Second factor', second_factor ? `Yes, with ${member.recovery_codes_left} recovery codes left` : 'No'],
          ]}
        />
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
            You cannot manage their name, password, second factor and sessions, as they have roles that you cannot
            grant.
          </p>
        )}
      </div>
    </Dialog>
  );
}

const signsInBy = ({ has_password, provider_links: links }: UserItem): string =>
  [...(has_password ? ['a password'] : []), ...(links > 0 ? [`${links} linked at a provider`] : [])].join(', ') ||
  'not set up';

function Roles({ member, onChanged }: MemberProps) {
  const form = useEditForm<UserItem, { roles: GrantItem[] }>({
    item: member,
    draftOf: ({ grants }) => ({ roles: grants }),
    read: () => readMember(member.user_id),
    write: ({ roles }, base) => changeMember(base, { grants: roles }),
    said: `The roles of ${member.user_id} were changed`,
    onDone: onChanged,
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
      {member.has_other_grants && <p class="muted">They also have roles that you do not manage.</p>}
      <FailureNote failure={form.failure} />
      <div class="actions">
        <Button
          kind="primary"
          label="Save roles"
          disabled={form.isBusy || !form.isChanged}
          onClick={() => form.save()}
        />
      </div>
      <ConflictDialog saving={form} what={member.user_id} textOf={memberText} />
    </div>
  );
}

function Name({ member, onChanged }: MemberProps) {
  const form = useEditForm<UserItem, { name: string }>({
    item: member,
    draftOf: ({ name }) => ({ name }),
    read: () => readMember(member.user_id),
    write: ({ name }, base) => changeMember(base, { name: name.trim() }),
    said: 'Saved the name',
    onDone: onChanged,
  });
  useUnsaved(form.isChanged);
  return (
    <form class="form-row" onSubmit={submitHandler(() => void form.save())}>
      <TextField label="Name" required {...textFields(form.draft, form.edit, form.failure)('name')} />
      <div class="field-button">
        <Button type="submit" label="Save name" disabled={form.isBusy || !form.isChanged} />
      </div>
      {form.failure !== null && form.failure.problems.length === 0 && <FailureNote failure={form.failure} />}
      <ConflictDialog saving={form} what={member.user_id} />
    </form>
  );
}

function Sessions({ member, onChanged }: MemberProps) {
  const asked = useGet<SessionList>(userPath(member.user_id, 'sessions'));
  const action = useMutation();
  const end = () =>
    action.run(
      () => request<UserItem>('DELETE', userPath(member.user_id, 'sessions')),
      () => {
        toast(`The sessions of ${member.user_id} were ended`);
        asked.again();
        onChanged();
      },
    );
  return (
    <section class="stack-small" aria-labelledby="member-sessions">
      <h3 id="member-sessions">Sessions</h3>
      <Shown asked={asked}>
        {({ items }) => (
          <>
            <SessionTable sessions={items} />
            <FailureNote failure={action.failure} />
            {items.length > 0 && (
              <div class="actions">
                <Button label="End all sessions" disabled={action.isBusy} onClick={end} />
              </div>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

/** Makes an address by which a user links their account at a provider, once; nothing where there are no providers. */
function InviteMember({ userId }: { userId: string }) {
  const asked = useQuery('providers', readProviders);
  const [made, setMade] = useState<Invitation | null>(null);
  const action = useMutation();
  const path = userPath(userId, 'invitation');
  if ((asked.value?.items ?? []).length === 0) return null;
  return (
    <div class="stack-small">
      <FailureNote failure={action.failure} />
      <div class="actions spread">
        <Button
          label="Invite to single sign-on"
          disabled={action.isBusy}
          onClick={() => action.run(() => request<Invitation>('POST', path, { body: {} })).then(setMade)}
        />
      </div>
      {made !== null && (
        <IssuedSecret
          secret={`${location.origin}${addressOf('/')}#invitation=${made.invitation}`}
          what="invitation"
          onClose={() => setMade(null)}
        >
          <p>
            Opening it links a provider account to {userId}, once, until {dateTime(made.expires_at)}.
          </p>
        </IssuedSecret>
      )}
    </div>
  );
}

/** Changes whether and how a user signs in; `after` is what is so then. */
function useSignInChange({ member, onChanged }: MemberProps) {
  const saving = useSave();
  const change = (body: MemberChange, after: Compared, onSaved: (saved: ChangedUser) => void, onDone: () => void) =>
    saving.save<UserItem>({
      loaded: member,
      factsOf: signInFacts,
      kept: (base) => ({ ...signInFacts(base), ...after }),
      read: () => readMember(member.user_id),
      write: (base) => changeMember(base, body),
      onSaved: (saved) => onSaved(saved as ChangedUser),
      onDone() {
        onDone();
        onChanged();
      },
    });
  return { saving, change };
}

interface MemberSignInProps extends MemberProps {
  /** Tokens that they issued and that still work. */
  issued: Asked<TokenItem[]>;
}

const QUESTIONS = {
  password: {
    title: 'Reset the password?',
    action: 'Reset password',
    text: 'The current one stops working, and their sessions end. The new one is shown only once.',
  },
  factor: {
    title: 'Remove the second factor?',
    action: 'Remove',
    text: 'For a lost phone: the password alone is enough until they set up another one.',
  },
} as const;

/** Whether and how somebody signs in: a new password, no second factor any more, disabling and enabling. */
function MemberSignIn({ member, issued, onChanged }: MemberSignInProps) {
  const [asks, setAsks] = useState<keyof typeof QUESTIONS | null>(null);
  const [password, setPassword] = useState<string | null>(null);
  const { saving, change } = useSignInChange({ member, onChanged });
  const close = (): void => setAsks(null);
  const said = (): void => toast(`The user ${member.user_id} was changed`);
  const fresh = randomPassword(browserBytes);
  const acts = {
    password: () => change({ password: fresh }, { has_password: true }, () => setPassword(fresh), close),
    factor: () => change({ second_factor: false }, { second_factor: false }, said, close),
    enable: () => change({ disabled: false }, { disabled: false }, said, close),
  };
  return (
    <section class="stack-small" aria-labelledby="member-signs-in">
      <h3 id="member-signs-in">Sign-in</h3>
      {asks === null && <FailureNote failure={saving.failure} />}
      <div class="actions spread">
        <Button label="Reset password" onClick={() => setAsks('password')} />
        {member.second_factor && <Button label="Remove the second factor" onClick={() => setAsks('factor')} />}
        {member.disabled_at === null ? (
          <DisableMember member={member} issued={issued} onChanged={onChanged} />
        ) : (
          <Button label="Enable" disabled={saving.isBusy} onClick={acts.enable} />
        )}
      </div>
      {asks !== null && (
        <Confirm
          title={QUESTIONS[asks].title}
          action={QUESTIONS[asks].action}
          isBusy={saving.isBusy}
          onConfirm={acts[asks]}
          onClose={close}
        >
          <p>{QUESTIONS[asks].text}</p>
          <FailureNote failure={saving.failure} />
        </Confirm>
      )}
      {password !== null && (
        <HandoverNote
          title={`The new password of ${member.user_id}`}
          userId={member.user_id}
          password={password}
          onClose={() => setPassword(null)}
        />
      )}
      <ConflictDialog saving={saving} what={member.user_id} textOf={memberText} />
    </section>
  );
}

/** Disables a user, and with them, unless it is not wanted, what they issued: that would go on working. */
function DisableMember({ member, issued, onChanged }: MemberSignInProps) {
  const [asks, setAsks] = useState(false);
  const [revokes, setRevokes] = useState(true);
  const { saving, change } = useSignInChange({ member, onChanged });
  const tokens = issued.value ?? [];
  const managesTokens = mayAt('tokens.manage', null);
  const close = (): void => setAsks(false);
  const tell = ({ revoked_issued }: ChangedUser): void => {
    const said = `The user ${member.user_id} was disabled`;
    if (revoked_issued === undefined) toast(said);
    else if (isAll(revoked_issued)) toast(`${said}, and what they issued was revoked`);
    else toast(`${said}, but not all that they issued could be revoked: see below`, 'bad');
    issued.again();
  };
  const body: MemberChange = { disabled: true, ...(revokes && managesTokens && { revoke_issued: true }) };
  return (
    <>
      <Button kind="danger" label="Disable" onClick={() => setAsks(true)} />
      {asks && (
        <Confirm
          title="Disable the user?"
          action="Disable"
          isBusy={saving.isBusy || issued.waits}
          onConfirm={() => change(body, { disabled: true }, tell, close)}
          onClose={close}
        >
          <p>They can no longer sign in, and their sessions end immediately. They can be enabled again.</p>
          {tokens.length > 0 && (
            <>
              <p>Tokens they issued keep working:</p>
              <TokenLines tokens={tokens} />
            </>
          )}
          {managesTokens && (
            <CheckField
              label="Also revoke what they issued"
              hint="Their tokens and ClickHouse users stop working immediately and permanently."
              checked={revokes}
              onChecked={setRevokes}
            />
          )}
          {issued.failure !== null && <p>The tokens they issued are unavailable. They keep working until revoked.</p>}
          <FailureNote failure={issued.failure} again={issued.again} />
          <FailureNote failure={saving.failure} />
        </Confirm>
      )}
      <ConflictDialog saving={saving} what={member.user_id} textOf={memberText} />
    </>
  );
}

const isAll = ({ tokens_left, analysts_left }: RevokedIssued): boolean => !tokens_left && !analysts_left;
