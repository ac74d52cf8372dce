import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { TokenItem } from '#services/control_api/token_shapes.ts';
import type { UserItem } from '#services/control_api/user_shapes.ts';
import { sentenceOf } from '../../api/api_answer.ts';
import type { Asked } from '../../api/use_answer.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { useSaving } from '../../editing/use_saving.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { CheckField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { revokeTokens } from './issued_tokens.ts';
import { memberText, signInFacts } from './member_facts.ts';
import { changeMember, readMember } from './member_requests.ts';
import { TokenLines } from './token_lines.tsx';

interface DisableMemberProps {
  member: UserItem;
  issued: Asked<TokenItem[] | null>;
  onChanged(): void;
}

/** Disables a user, and with them, unless it is not wanted, the tokens that they issued: those would go on working. */
export function DisableMember({ member, issued, onChanged }: DisableMemberProps): VNode {
  const [asks, setAsks] = useState(false);
  const [revokes, setRevokes] = useState(true);
  const saving = useSaving();
  const tokens = issued.value ?? [];
  const finish = async (): Promise<void> => {
    setAsks(false);
    const wanted = revokes ? tokens : [];
    const revoked = await revokeTokens(wanted);
    const said = `The user ${member.user_id} was disabled`;
    if (!revoked.ok) toast(`${said}, but not all of their tokens were revoked: ${sentenceOf(revoked.failure)}`, 'bad');
    else toast(wanted.length === 0 ? said : `${said}, and their tokens were revoked`);
    issued.again();
    onChanged();
  };
  const disable = (): Promise<void> =>
    saving.save<UserItem>({
      loaded: member,
      factsOf: signInFacts,
      kept: (base) => ({ ...signInFacts(base), disabled: true }),
      read: () => readMember(member.user_id),
      write: (base) => changeMember(base, { disabled: true }),
      onSaved: () => void finish(),
      onTheirs() {
        setAsks(false);
        onChanged();
      },
    });
  return (
    <>
      <button type="button" class="button danger" onClick={() => setAsks(true)}>
        Disable
      </button>
      {asks && (
        <Confirm
          title="Disable the user?"
          action="Disable"
          isDangerous
          isBusy={saving.isBusy || issued.waits}
          onConfirm={() => void disable()}
          onClose={() => setAsks(false)}
        >
          <p>Nobody signs in as them any more, and their sessions end at once. They can be enabled again.</p>
          {tokens.length > 0 && (
            <>
              <p>These tokens that they issued go on working:</p>
              <TokenLines tokens={tokens} />
              <CheckField
                label="Revoke these tokens too"
                hint="At once and for good: programs that use them are refused."
                checked={revokes}
                onChecked={setRevokes}
              />
            </>
          )}
          {issued.failure !== null && (
            <>
              <p>Which tokens they issued is not known now. Those go on working until somebody revokes them.</p>
              <FailureNote failure={issued.failure} again={issued.again} />
            </>
          )}
          {saving.failure !== null && <FailureNote failure={saving.failure} />}
        </Confirm>
      )}
      <ConflictDialog saving={saving} what={member.user_id} textOf={memberText} />
    </>
  );
}
