import { useState } from 'preact/hooks';
import type { AnalystItem, AnalystsAnswer, MadeAnalyst } from '#services/control_api/queries.ts';
import type { UserItem } from '#services/control_api/users.ts';
import { type ApiResult, request } from '../../api/request.ts';
import { askedWhere, useGet, useQuery } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { mayAt } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmAction, CreateDialog } from '../../ui/confirm_action.tsx';
import { AskedTable, actionColumn, type Column, codeColumn } from '../../ui/data_table.tsx';
import { CheckField, SelectField, TextField, useDraft } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/identifiers.tsx';
import { Empty, Panel } from '../../ui/panel.tsx';
import { IssuedBy } from './access_tokens.tsx';
import { DAYS, endAfter, LIFETIMES } from './grants.ts';

const base = '/v1/admin/analysts';
const NOT_SET_UP = 'analysts_not_set_up';

export function Analysts() {
  const asked = useGet<AnalystsAnswer>(base);
  const [makes, setMakes] = useState(false);
  const [revoked, setRevoked] = useState<AnalystItem | null>(null);
  if (asked.failure?.code === NOT_SET_UP) {
    return (
      <Panel title="ClickHouse users">
        <Empty title="ClickHouse users are not available">
          The embedded ClickHouse of the local setup cannot store users. With a ClickHouse server, set{' '}
          <code>CONTROL_ANALYSTS_URL</code> to a user that can create others.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel
      title="ClickHouse users"
      note="For SQL tools: each user has read-only, limited access to the chosen sites."
      actions={<Button kind="primary" label="Create user" onClick={() => setMakes(true)} />}
    >
      <AskedTable
        asked={asked}
        caption="List of ClickHouse users"
        columns={columnsOf(setRevoked)}
        keyOf={({ analyst_id }) => analyst_id}
        csvName="clickhouse-users"
      />
      {makes && <MakeAnalyst onMade={asked.again} onClose={() => setMakes(false)} />}
      {revoked !== null && (
        <ConfirmAction
          title={`Revoke ${revoked.clickhouse_user}?`}
          action="Revoke"
          run={() => revokeAnalyst(revoked)}
          said={`${revoked.clickhouse_user} was revoked`}
          onDone={asked.again}
          onClose={() => setRevoked(null)}
        >
          It loses access immediately, its queries are ended, and the database of its views is removed.
        </ConfirmAction>
      )}
    </Panel>
  );
}

const columnsOf = (revoke: (analyst: AnalystItem) => void): readonly Column<AnalystItem>[] => [
  codeColumn('user', 'User', ({ clickhouse_user }) => clickhouse_user),
  { id: 'sites', title: 'Sites', value: ({ site_ids }) => site_ids.join(', ') },
  {
    ...{ id: 'made', title: 'Created', value: ({ created_at }) => created_at },
    cell: ({ created_at }) => (created_at === null ? 'Unknown' : dateTime(created_at)),
  },
  {
    ...{ id: 'ends', title: 'Expires', value: ({ expires_at }) => expires_at ?? Number.POSITIVE_INFINITY },
    cell: ({ expires_at }) => (expires_at === null ? 'Never' : dateTime(expires_at)),
  },
  { id: 'by', title: 'Created by', value: ({ created_by }) => created_by },
  actionColumn({ label: 'Revoke', nameOf: ({ clickhouse_user }) => `Revoke ${clickhouse_user}`, act: revoke }),
];

const revokeAnalyst = ({ analyst_id }: AnalystItem): Promise<ApiResult<AnalystItem>> =>
  request('DELETE', `${base}/${analyst_id}`);

const NEW = { analyst_id: '', site_ids: [] as readonly string[], days: DAYS };

function MakeAnalyst({ onMade, onClose }: { onMade(): void; onClose(): void }) {
  const { draft, edit, isChanged, field } = useDraft(NEW);
  const { analyst_id, site_ids, days } = draft;
  const mine = (sites.value ?? []).filter(({ site_id }) => mayAt('tokens.manage', site_id));
  const body = () => ({ analyst_id: analyst_id.trim(), site_ids, expires_at: endAfter(days, Date.now()) });
  return (
    <CreateDialog
      title="Create a ClickHouse user"
      action="Create"
      isChanged={isChanged}
      isReady={site_ids.length > 0}
      run={() => request<MadeAnalyst>('POST', base, { body: body() })}
      onMade={onMade}
      onClose={onClose}
      issued={({ analyst: { clickhouse_user }, password }) => (
        <IssuedSecret
          title={`The user ${clickhouse_user} was created`}
          secret={password}
          what="password"
          onClose={onClose}
        >
          <p>
            It logs in to ClickHouse as <code>{clickhouse_user}</code>; the tables are in the database of the same name.
          </p>
        </IssuedSecret>
      )}
    >
      {(failure) => (
        <>
          <TextField label="Id" required hint="Up to 32 of a-z, 0-9 and -" {...field(failure)('analyst_id')} />
          <fieldset class="stack-small">
            <legend>Sites</legend>
            {mine.map(({ site_id }) => (
              <CheckField
                key={site_id}
                label={site_id}
                checked={site_ids.includes(site_id)}
                onChecked={(isChosen) =>
                  edit({ site_ids: isChosen ? [...site_ids, site_id] : site_ids.filter((one) => one !== site_id) })
                }
              />
            ))}
          </fieldset>
          <SelectField label="Expires after" options={LIFETIMES} {...field(failure)('days')} />
        </>
      )}
    </CreateDialog>
  );
}

/** The users of ClickHouse that a user made, whose passwords they may know: those log in whoever is disabled. */
export function MemberAnalysts({ member }: { member: UserItem }) {
  const { user_id, disabled_at } = member;
  const managesTokens = mayAt('tokens.manage', null);
  const asked = useQuery(
    // What was issued may end with who is disabled.
    `${user_id} ${managesTokens} ${disabled_at}`,
    askedWhere(managesTokens, (signal) => madeBy(user_id, signal)),
  );
  if (asked.value === null && asked.failure === null) return null;
  return (
    <IssuedBy
      {...{ member, id: 'member-analysts', title: 'ClickHouse users they created', asked }}
      none="None"
      revoke={revokeAnalyst}
      action="Revoke these users"
      said={`The ClickHouse users of ${user_id} were revoked`}
    >
      {(analysts) => (
        <ul class="lines">
          {analysts.map(({ analyst_id, clickhouse_user, site_ids }) => (
            <li key={analyst_id}>
              <code>{clickhouse_user}</code>
              <span class="muted small">reads {site_ids.join(', ')}</span>
            </li>
          ))}
        </ul>
      )}
    </IssuedBy>
  );
}

async function madeBy(userId: string, signal: AbortSignal): Promise<ApiResult<AnalystItem[]>> {
  const all = await request<AnalystsAnswer>('GET', base, { signal });
  if (all.ok) return { ...all, value: all.value.items.filter(({ made_by }) => made_by === userId) };
  // There are none then.
  return all.failure.code === NOT_SET_UP ? { ok: true, value: [], version: null } : all;
}
