import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ChangedUser, RevokedIssued, TokenItem, UserItem } from '#services/control_api/users.ts';
import type { Asked } from '../../api/use_answer.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { useSaving } from '../../editing/use_saving.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { CheckField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAt } from '../../who.ts';
import { memberText, signInFacts } from './member_facts.ts';
import { changeMember, readMember } from './member_requests.ts';
import { TokenLines } from './token_lines.tsx';

interface DisableMemberProps {
  member: UserItem;
  issued: Asked<TokenItem[] | null>;
  onChanged(): void;
}

/** Disables a user, and with them, unless it is not wanted, what they issued: that would go on working. */
export function DisableMember({ member, issued, onChanged }: DisableMemberProps): VNode {
  const [asks, setAsks] = useState(false);
  const [revokes, setRevokes] = useState(true);
  const saving = useSaving();
  const tokens = issued.value ?? [];
  const managesTokens = mayAt('tokens.manage', null);
  const finish = ({ revoked_issued }: ChangedUser): void => {
    setAsks(false);
    const said = `The user ${member.user_id} was disabled`;
    if (revoked_issued === undefined) toast(said);
    else if (isAll(revoked_issued)) toast(`${said}, and what they issued was revoked`);
    else toast(`${said}, but not all that they issued could be revoked: see below`, 'bad');
    issued.again();
    onChanged();
  };
  const disable = (): Promise<void> =>
    saving.save<UserItem>({
      loaded: member,
      factsOf: signInFacts,
      kept: (base) => ({ ...signInFacts(base), disabled: true }),
      read: () => readMember(member.user_id),
      write: (base) => changeMember(base, { disabled: true, ...(revokes && managesTokens && { revoke_issued: true }) }),
      onSaved: (saved) => finish(saved as ChangedUser),
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
            </>
          )}
          {managesTokens && (
            <CheckField
              label="Revoke what they issued too"
              hint="Their tokens and the users of ClickHouse that they made, at once and for good: programs that use them are refused."
              checked={revokes}
              onChecked={setRevokes}
            />
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

const isAll = ({ tokens_left, analysts_left }: RevokedIssued): boolean => !tokens_left && !analysts_left;
