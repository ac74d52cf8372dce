import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { IssuedTokenItem } from '#services/control_api/users.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { isSame } from '../../editing/differences.ts';
import { sites } from '../../site_list.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { CheckField, problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/secret_once.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { who } from '../../who.ts';
import { grantAt, isGivable } from './grant_form.ts';
import { GrantList } from './grant_list.tsx';
import { DAYS, LIFETIMES, type TokenDraft, tokenBody } from './token_form.ts';

const EMPTY: TokenDraft = { label: '', isAll: false, grants: [], days: DAYS };

/** Issues a token and shows it, once. */
export function IssueToken({ onIssued, onClose }: { onIssued(): void; onClose(): void }): VNode {
  const [draft, setDraft] = useState(EMPTY);
  const [secret, setSecret] = useState<string | null>(null);
  const action = useAction();
  const giver = who.value?.grants ?? [];
  const mayGiveAll = isGivable(giver, grantAt('owner', ''), 'tokens.manage', sites.value ?? []);
  const issue = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = tokenBody(draft, Date.now());
    const issued = await action.run(() => request<IssuedTokenItem>('POST', '/v1/admin/tokens', { body }));
    if (issued === null) return;
    setSecret(issued.secret);
    onIssued();
  };
  if (secret !== null) {
    return <IssuedSecret secret={secret} what="token" onClose={onClose} />;
  }
  return (
    <Dialog title="Issue a token" isChanged={!isSame(draft, EMPTY)} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void issue(event)}>
        <TextField
          label="Label"
          required
          hint="What program it is for; it stands beside every change made with it."
          problem={problemOf(action.failure, 'label')}
          value={draft.label}
          onValue={(label) => setDraft({ ...draft, label })}
        />
        {mayGiveAll && (
          <CheckField
            label="Everything"
            hint="As an owner of the installation"
            checked={draft.isAll}
            onChecked={(isAll) => setDraft({ ...draft, isAll })}
          />
        )}
        {!draft.isAll && (
          <GrantList
            label="What it may"
            permission="tokens.manage"
            grants={draft.grants}
            onGrants={(grants) => setDraft({ ...draft, grants })}
          />
        )}
        <SelectField
          label="It works for"
          options={LIFETIMES}
          value={draft.days}
          onValue={(days) => setDraft({ ...draft, days })}
        />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <FormActions
          action="Issue"
          disabled={action.isBusy || !(draft.isAll || draft.grants.length > 0)}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
