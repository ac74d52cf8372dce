import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { IssuedTokenItem, TokenItem, UserItem } from '#services/control_api/users.ts';
import { type ApiResult, listAll, request } from '../../api/request.ts';
import { type Asked, askedWhere, useList, useMutation, useQuery } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { currentUser, mayAt, mayEverywhere } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmAction, CreateDialog } from '../../ui/confirm_action.tsx';
import { AskedTable, actionColumn, type Column, codeColumn, stateColumn, timeColumn } from '../../ui/data_table.tsx';
import { toast } from '../../ui/dialog.tsx';
import { CheckField, SelectField, TextField, useDraft } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/identifiers.tsx';
import { FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { DAYS, grantAt, isGivable, LIFETIMES, type TokenDraft, tokenBody, tokenMayText } from './grants.ts';
import { GrantList } from './member_grants.tsx';

const STATES = {
  active: { label: 'Active', badge: 'good' },
  expired: { label: 'Expired', badge: 'plain' },
  revoked: { label: 'Revoked', badge: 'bad' },
} as const;

export function Tokens() {
  const asked = useList<TokenItem>('/v1/admin/tokens');
  const [issues, setIssues] = useState(false);
  const [revoked, setRevoked] = useState<TokenItem | null>(null);
  return (
    <Panel
      title="API tokens"
      note="Anyone who has a token can use it. Changes made with it carry its label."
      actions={<Button kind="primary" label="Issue a token" onClick={() => setIssues(true)} />}
    >
      <AskedTable
        asked={asked}
        caption="Tokens"
        columns={columnsOf(setRevoked)}
        keyOf={({ token_hash }) => token_hash}
        csvName="tokens"
      />
      {issues && <IssueToken onIssued={asked.again} onClose={() => setIssues(false)} />}
      {revoked !== null && (
        <ConfirmAction
          title={`Revoke the token ${revoked.label}?`}
          action="Revoke"
          run={() => revokeToken(revoked)}
          said={`The token ${revoked.label} was revoked`}
          onDone={asked.again}
          onClose={() => setRevoked(null)}
        >
          It stops working immediately and permanently.
        </ConfirmAction>
      )}
    </Panel>
  );
}

const columnsOf = (revoke: (token: TokenItem) => void): readonly Column<TokenItem>[] => [
  { id: 'label', title: 'Label', value: ({ label }) => label },
  codeColumn('token', 'Token', ({ shown_prefix }) => shown_prefix, begin),
  { id: 'may', title: 'Permissions', value: ({ grants }) => tokenMayText(grants) },
  stateColumn('state', 'State', ({ state }) => STATES[state]),
  { id: 'issuer', title: 'Issued by', value: ({ issued_by }) => issued_by ?? '' },
  timeColumn('created', 'Issued', ({ created_at }) => created_at),
  {
    ...{ id: 'ends', title: 'Expires', value: ({ expires_at }) => expires_at },
    cell: ({ expires_at }) => (expires_at === null ? 'Never' : dateTime(expires_at)),
  },
  actionColumn({
    label: 'Revoke',
    nameOf: ({ label }) => `Revoke the token ${label}`,
    isFor: ({ state }) => state === 'active',
    act: revoke,
  }),
];

const begin = (prefix: string): string => `${prefix}…`;

const EMPTY: TokenDraft = { label: '', isAll: false, grants: [], days: DAYS };

function IssueToken({ onIssued, onClose }: { onIssued(): void; onClose(): void }) {
  const { draft, edit, isChanged, field } = useDraft(EMPTY);
  const mayGiveAll = isGivable(
    currentUser.value?.grants ?? [],
    grantAt('owner', ''),
    'tokens.manage',
    sites.value ?? [],
  );
  return (
    <CreateDialog
      title="Issue a token"
      action="Issue"
      isChanged={isChanged}
      isReady={draft.isAll || draft.grants.length > 0}
      run={() => request<IssuedTokenItem>('POST', '/v1/admin/tokens', { body: tokenBody(draft, Date.now()) })}
      onMade={onIssued}
      onClose={onClose}
      issued={({ secret }) => <IssuedSecret secret={secret} what="token" onClose={onClose} />}
    >
      {(failure) => (
        <>
          <TextField
            label="Label"
            required
            hint="What it is for. Shown beside every change made with it."
            {...field(failure)('label')}
          />
          {mayGiveAll && (
            <CheckField
              label="Full access"
              hint="Like an owner of the installation"
              checked={draft.isAll}
              onChecked={(isAll) => edit({ isAll })}
            />
          )}
          {!draft.isAll && (
            <GrantList
              label="Roles"
              permission="tokens.manage"
              grants={draft.grants}
              onGrants={(grants) => edit({ grants })}
            />
          )}
          <SelectField label="Expires after" options={LIFETIMES} {...field(failure)('days')} />
        </>
      )}
    </CreateDialog>
  );
}

/** The tokens that a user has issued and that still work, as far as the person manages tokens; null where they manage none. */
export function useIssuedTokens(userId: string): Asked<TokenItem[]> {
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

/** Revokes one after the other, all that can be; answers why one could not. */
async function revokeAll<Item>(
  items: readonly Item[],
  revoke: (item: Item) => Promise<ApiResult<unknown>>,
): Promise<ApiResult<unknown>> {
  const answers: ApiResult<unknown>[] = [];
  for (const item of items) answers.push(await revoke(item));
  return answers.find((answer) => !answer.ok) ?? { ok: true, value: null, version: null };
}

export const TokenLines = ({ tokens }: { tokens: readonly TokenItem[] }) => (
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

interface IssuedByProps<Item> {
  member: UserItem;
  id: string;
  title: string;
  asked: Asked<readonly Item[]>;
  none: string;
  revoke(item: Item): Promise<ApiResult<unknown>>;
  action: string;
  said: string;
  children(items: readonly Item[]): VNode;
}

/** What a user has issued and goes on working without them: once they are disabled, a button revokes all of it. */
export function IssuedBy<Item>(props: IssuedByProps<Item>) {
  const { member, id, title, asked, none, revoke, action: label, said, children } = props;
  const { isBusy, failure, run } = useMutation();
  const revokeThem = async (items: readonly Item[]): Promise<void> => {
    await run(
      () => revokeAll(items, revoke),
      () => toast(said),
    );
    asked.again();
  };
  return (
    <section class="stack-small" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <FailureNote failure={failure} />
      <Shown asked={asked} lines={1}>
        {(items) =>
          items.length === 0 ? (
            <p class="muted">{none}</p>
          ) : (
            <>
              {children(items)}
              {member.disabled_at !== null && (
                <div class="actions">
                  <Button kind="danger" label={label} disabled={isBusy} onClick={() => revokeThem(items)} />
                </div>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}

export const MemberTokens = ({ member, issued }: { member: UserItem; issued: Asked<TokenItem[]> }) => (
  <IssuedBy
    {...{ member, id: 'member-tokens', title: 'Tokens they issued', asked: issued }}
    none="No active tokens"
    revoke={revokeToken}
    action="Revoke all"
    said={`The tokens that ${member.user_id} issued were revoked`}
  >
    {(tokens) => <TokenLines tokens={tokens} />}
  </IssuedBy>
);
