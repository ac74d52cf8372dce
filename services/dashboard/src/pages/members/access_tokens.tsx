import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { IssuedTokenItem, TokenItem, UserItem } from '#services/control_api/users.ts';
import { type ApiError, type ApiResult, listAll, request } from '../../api/request.ts';
import { type Asked, askedWhere, useMutation, useQuery } from '../../api/use_answer.ts';
import { isSame } from '../../editing/differences.ts';
import { dateTime } from '../../format.ts';
import { currentUser, mayAt, mayEverywhere } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { type Column, DataTable, stateColumn, timeColumn } from '../../ui/data_table.tsx';
import { Confirm, Dialog, toast } from '../../ui/dialog.tsx';
import { CheckField, FormActions, problemOf, SelectField, submitHandler, TextField } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/identifiers.tsx';
import { FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { DAYS, grantAt, isGivable, LIFETIMES, type TokenDraft, tokenBody, tokenMayText } from './grants.ts';
import { GrantList } from './member_grants.tsx';

const STATES = {
  active: { label: 'Active', badge: 'good' },
  expired: { label: 'Expired', badge: 'plain' },
  revoked: { label: 'Revoked', badge: 'bad' },
} as const;

/** The tokens by which programs use the API. */
export function Tokens(): VNode {
  const asked = useQuery('tokens', (signal) => listAll<TokenItem>('/v1/admin/tokens', {}, 10_000, signal));
  const [issues, setIssues] = useState(false);
  const [revoked, setRevoked] = useState<TokenItem | null>(null);
  return (
    <Panel
      title="API tokens"
      note="Anyone who has a token can use it. Changes made with it carry its label."
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
  { id: 'may', title: 'Permissions', value: ({ grants }) => tokenMayText(grants) },
  stateColumn('state', 'State', ({ state }) => STATES[state]),
  { id: 'issuer', title: 'Issued by', value: ({ issued_by }) => issued_by ?? '' },
  timeColumn('created', 'Issued', ({ created_at }) => created_at),
  {
    id: 'ends',
    title: 'Expires',
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
  const action = useMutation();
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
      <p>It stops working immediately and permanently.</p>
      {action.failure !== null && <FailureNote failure={action.failure} />}
    </Confirm>
  );
}

const EMPTY: TokenDraft = { label: '', isAll: false, grants: [], days: DAYS };

/** Issues a token and shows it, once. */
function IssueToken({ onIssued, onClose }: { onIssued(): void; onClose(): void }): VNode {
  const [draft, setDraft] = useState(EMPTY);
  const [secret, setSecret] = useState<string | null>(null);
  const action = useMutation();
  const giver = currentUser.value?.grants ?? [];
  const mayGiveAll = isGivable(giver, grantAt('owner', ''), 'tokens.manage', sites.value ?? []);
  const issue = async (): Promise<void> => {
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
      <form class="stack" onSubmit={submitHandler(() => void issue())}>
        <TextField
          label="Label"
          required
          hint="What it is for. Shown beside every change made with it."
          problem={problemOf(action.failure, 'label')}
          value={draft.label}
          onValue={(label) => setDraft({ ...draft, label })}
        />
        {mayGiveAll && (
          <CheckField
            label="Full access"
            hint="Like an owner of the installation"
            checked={draft.isAll}
            onChecked={(isAll) => setDraft({ ...draft, isAll })}
          />
        )}
        {!draft.isAll && (
          <GrantList
            label="Roles"
            permission="tokens.manage"
            grants={draft.grants}
            onGrants={(grants) => setDraft({ ...draft, grants })}
          />
        )}
        <SelectField
          label="Expires after"
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

/** The tokens that a user has issued and that still work, as far as the person manages tokens; null where they manage none. */
export function useIssuedTokens(userId: string): Asked<TokenItem[] | null> {
  const managesTokens = mayAt('tokens.manage', null);
  return useQuery(
    `${userId} ${managesTokens}`,
    askedWhere(managesTokens, (signal) => issuedTokens(userId, signal)),
  );
}

async function issuedTokens(userId: string, signal: AbortSignal): Promise<ApiResult<TokenItem[]>> {
  const all = await listAll<TokenItem>('/v1/admin/tokens', {}, 10_000, signal);
  if (!all.ok) return all;
  const theirs = all.value.items.filter(({ issued_by, state }) => issued_by === userId && state === 'active');
  return { ...all, value: theirs };
}

const revokeToken = ({ token_hash }: TokenItem): Promise<ApiResult<TokenItem>> =>
  request('POST', `/v1/admin/tokens/${token_hash}/revoke`);

/** Revokes all that can be; answers why one could not. */
async function revokeTokens(tokens: readonly TokenItem[]): Promise<ApiResult<null>> {
  const answers: ApiResult<TokenItem>[] = [];
  for (const token of tokens) answers.push(await revokeToken(token));
  return answers.find((answer) => !answer.ok) ?? { ok: true, value: null, version: null };
}

/** Tokens, one on a line, with what each may. */
export function TokenLines({ tokens }: { tokens: readonly TokenItem[] }): VNode {
  return (
    <>
      <ul class="lines">
        {tokens.map(({ token_hash, label, shown_prefix, grants, created_at }) => (
          <li key={token_hash}>
            <span>
              {label} <code>{shown_prefix}…</code>
            </span>
            <span class="muted small">
              {tokenMayText(grants)}, issued {dateTime(created_at)}
            </span>
          </li>
        ))}
      </ul>
      {!mayEverywhere('tokens.manage') && <p class="muted small">Tokens that you do not manage are not listed.</p>}
    </>
  );
}

interface MemberTokensProps {
  member: UserItem;
  issued: Asked<TokenItem[] | null>;
}

/** What a user has issued and goes on working without them. */
export function MemberTokens({ member: { user_id, disabled_at }, issued }: MemberTokensProps): VNode {
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const revoke = async (tokens: readonly TokenItem[]): Promise<void> => {
    setBusy(true);
    const answer = await revokeTokens(tokens);
    setFailure(answer.ok ? null : answer.failure);
    setBusy(false);
    if (answer.ok) toast(`The tokens that ${user_id} issued were revoked`);
    issued.again();
  };
  return (
    <section class="stack-small" aria-labelledby="member-tokens">
      <h3 id="member-tokens">Tokens they issued</h3>
      {failure !== null && <FailureNote failure={failure} />}
      <Shown asked={issued} lines={1}>
        {(tokens) =>
          tokens === null ? (
            <p class="muted">Your role cannot see tokens.</p>
          ) : tokens.length === 0 ? (
            <p class="muted">No active tokens</p>
          ) : (
            <>
              <TokenLines tokens={tokens} />
              {disabled_at !== null && (
                <div class="actions">
                  <button type="button" class="button danger" disabled={isBusy} onClick={() => void revoke(tokens)}>
                    Revoke all
                  </button>
                </div>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}
