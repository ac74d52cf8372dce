import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { TokenItem } from '#services/control_api/users.ts';
import { listAll } from '../../api/lists.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/panel.tsx';
import { FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { tokenMayText } from './grant_form.ts';
import { IssueToken } from './issue_token.tsx';
import { revokeToken } from './issued_tokens.ts';

const STATES = {
  active: { label: 'Active', badge: 'good' },
  expired: { label: 'Expired', badge: 'plain' },
  revoked: { label: 'Revoked', badge: 'bad' },
} as const;

/** The tokens by which programs use the API. */
export function Tokens(): VNode {
  const asked = useAnswer('tokens', (signal) => listAll<TokenItem>('/v1/admin/tokens', {}, 10_000, signal));
  const [issues, setIssues] = useState(false);
  const [revoked, setRevoked] = useState<TokenItem | null>(null);
  return (
    <Panel
      title="Tokens of programs"
      note="A token stands for whoever holds it: changes made with it carry its label."
      actions={
        <button type="button" class="button primary" onClick={() => setIssues(true)}>
          Issue a token
        </button>
      }
    >
      <Shown asked={asked}>
        {({ items }) => (
          <DataTable
            caption="Tokens"
            columns={columnsOf(setRevoked)}
            rows={items}
            keyOf={({ token_hash }) => token_hash}
            csvName="tokens"
          />
        )}
      </Shown>
      {issues && <IssueToken onIssued={asked.again} onClose={() => setIssues(false)} />}
      {revoked !== null && <RevokeToken token={revoked} onRevoked={asked.again} onClose={() => setRevoked(null)} />}
    </Panel>
  );
}

const columnsOf = (revoke: (token: TokenItem) => void): readonly Column<TokenItem>[] => [
  { id: 'label', title: 'Label', value: ({ label }) => label },
  {
    id: 'token',
    title: 'Token',
    value: ({ shown_prefix }) => shown_prefix,
    cell: ({ shown_prefix }) => <code>{shown_prefix}…</code>,
  },
  { id: 'may', title: 'May', value: ({ grants }) => tokenMayText(grants) },
  {
    id: 'state',
    title: 'State',
    value: ({ state }) => STATES[state].label,
    cell: ({ state }) => <Badge kind={STATES[state].badge}>{STATES[state].label}</Badge>,
  },
  { id: 'issuer', title: 'Issued by', value: ({ issued_by }) => issued_by ?? '' },
  {
    id: 'created',
    title: 'Issued',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => dateTime(created_at),
  },
  {
    id: 'ends',
    title: 'Ends',
    value: ({ expires_at }) => expires_at,
    cell: ({ expires_at }) => (expires_at === null ? 'Never' : dateTime(expires_at)),
  },
  {
    id: 'revoke',
    title: 'Action',
    align: 'end',
    cell: (token) =>
      token.state === 'active' && (
        <button
          type="button"
          class="button small quiet"
          aria-label={`Revoke the token ${token.label}`}
          onClick={() => revoke(token)}
        >
          Revoke
        </button>
      ),
  },
];

interface RevokeTokenProps {
  token: TokenItem;
  onRevoked(): void;
  onClose(): void;
}

function RevokeToken({ token, onRevoked, onClose }: RevokeTokenProps): VNode {
  const action = useAction();
  const revoke = async (): Promise<void> => {
    const done = await action.run(() => revokeToken(token));
    if (done === null) return;
    toast(`The token ${token.label} was revoked`);
    onRevoked();
    onClose();
  };
  return (
    <Confirm
      title={`Revoke the token ${token.label}?`}
      action="Revoke"
      isDangerous
      isBusy={action.isBusy}
      onConfirm={() => void revoke()}
      onClose={onClose}
    >
      <p>It stops at once and for good: whatever program uses it is refused.</p>
      {action.failure !== null && <FailureNote failure={action.failure} />}
    </Confirm>
  );
}
