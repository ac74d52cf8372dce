import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { randomPassword } from '#pipelines/settings/secrets.ts';
import type { TokenItem, UserItem } from '#services/control_api/users.ts';
import type { Asked } from '../../api/use_answer.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import type { Facts } from '../../editing/differences.ts';
import { useSaving } from '../../editing/use_saving.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { DisableMember } from './disable_member.tsx';
import { HandedOver } from './handed_over.tsx';
import { memberText, signInFacts } from './member_facts.ts';
import { browserBytes, changeMember, readMember } from './member_requests.ts';

interface MemberSignInProps {
  member: UserItem;
  /** Tokens that they issued and that still work. */
  issued: Asked<TokenItem[] | null>;
  onChanged(): void;
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
} as const;

type Act = keyof typeof QUESTIONS | 'enable';

const AFTER: Readonly<Record<Act, Facts>> = {
  password: { has_password: true },
  factor: { second_factor: false },
  enable: { disabled: false },
};

/** Whether and how somebody signs in: a new password, no second factor any more, disabling and enabling. */
export function MemberSignIn({ member, issued, onChanged }: MemberSignInProps): VNode {
  const [asks, setAsks] = useState<keyof typeof QUESTIONS | null>(null);
  const [password, setPassword] = useState<string | null>(null);
  const saving = useSaving();
  const change = async (what: Act): Promise<void> => {
    const fresh = randomPassword(browserBytes);
    const bodies = {
      password: { password: fresh },
      factor: { second_factor: false },
      enable: { disabled: false },
    } as const;
    await saving.save<UserItem>({
      loaded: member,
      factsOf: signInFacts,
      kept: (base) => ({ ...signInFacts(base), ...AFTER[what] }),
      read: () => readMember(member.user_id),
      write: (base) => changeMember(base, bodies[what]),
      onSaved() {
        setAsks(null);
        if (what === 'password') setPassword(fresh);
        else toast(`The user ${member.user_id} was changed`);
        onChanged();
      },
      onTheirs() {
        setAsks(null);
        onChanged();
      },
    });
  };
  return (
    <section class="stack-small" aria-labelledby="member-signs-in">
      <h3 id="member-signs-in">Signing in</h3>
      {asks === null && saving.failure !== null && <FailureNote failure={saving.failure} />}
      <Acts
        member={member}
        issued={issued}
        onChanged={onChanged}
        isBusy={saving.isBusy}
        onAct={(what) => (what === 'enable' ? void change(what) : setAsks(what))}
      />
      {asks !== null && (
        <Confirm
          title={QUESTIONS[asks].title}
          action={QUESTIONS[asks].action}
          isDangerous
          isBusy={saving.isBusy}
          onConfirm={() => void change(asks)}
          onClose={() => setAsks(null)}
        >
          <p>{QUESTIONS[asks].text}</p>
          {saving.failure !== null && <FailureNote failure={saving.failure} />}
        </Confirm>
      )}
      {password !== null && (
        <HandedOver
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

interface ActsProps extends MemberSignInProps {
  isBusy: boolean;
  onAct(what: Act): void;
}

/** What can be done about it as it is. */
function Acts({ member, issued, onChanged, isBusy, onAct }: ActsProps): VNode {
  return (
    <div class="actions spread">
      <button type="button" class="button" onClick={() => onAct('password')}>
        Give a new password
      </button>
      {member.second_factor && (
        <button type="button" class="button" onClick={() => onAct('factor')}>
          Remove the second factor
        </button>
      )}
      {member.disabled_at === null ? (
        <DisableMember member={member} issued={issued} onChanged={onChanged} />
      ) : (
        <button type="button" class="button" disabled={isBusy} onClick={() => onAct('enable')}>
          Enable
        </button>
      )}
    </div>
  );
}
