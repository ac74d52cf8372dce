import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AnalystItem, AnalystsAnswer, MadeAnalyst } from '#services/control_api/queries.ts';
import type { UserItem } from '#services/control_api/users.ts';
import { type ApiError, type ApiResult, request } from '../../api/request.ts';
import { askedWhere, useMutation, useQuery } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { mayAt } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Confirm, Dialog, toast } from '../../ui/dialog.tsx';
import { CheckField, FormActions, problemOf, SelectField, submitHandler, TextField } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/identifiers.tsx';
import { Empty, FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { DAYS, endAfter, LIFETIMES } from './grants.ts';

const base = '/v1/admin/analysts';
const NOT_SET_UP = 'analysts_not_set_up';

/** Users of ClickHouse that people read their sites with, by tools of their own. */
export function Analysts(): VNode {
  const asked = useQuery('analysts', (signal) => request<AnalystsAnswer>('GET', base, { signal }));
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
      actions={
        <button type="button" class="button primary" onClick={() => setMakes(true)}>
          Create user
        </button>
      }
    >
      <Shown asked={asked}>
        {({ items }) => (
          <DataTable
            caption="List of ClickHouse users"
            columns={columnsOf(setRevoked)}
            rows={items}
            keyOf={({ analyst_id }) => analyst_id}
            csvName="clickhouse-users"
          />
        )}
      </Shown>
      {makes && <MakeAnalyst onMade={asked.again} onClose={() => setMakes(false)} />}
      {revoked !== null && <RevokeAnalyst analyst={revoked} onRevoked={asked.again} onClose={() => setRevoked(null)} />}
    </Panel>
  );
}

const columnsOf = (revoke: (analyst: AnalystItem) => void): readonly Column<AnalystItem>[] => [
  {
    id: 'user',
    title: 'User',
    value: ({ clickhouse_user }) => clickhouse_user,
    cell: ({ clickhouse_user }) => <code>{clickhouse_user}</code>,
  },
  { id: 'sites', title: 'Sites', value: ({ site_ids }) => site_ids.join(', ') },
  {
    id: 'made',
    title: 'Created',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => (created_at === null ? 'Unknown' : dateTime(created_at)),
  },
  {
    id: 'ends',
    title: 'Expires',
    value: ({ expires_at }) => expires_at ?? Number.POSITIVE_INFINITY,
    cell: ({ expires_at }) => (expires_at === null ? 'Never' : dateTime(expires_at)),
  },
  { id: 'by', title: 'Created by', value: ({ created_by }) => created_by },
  {
    id: 'revoke',
    title: 'Action',
    align: 'end',
    cell: (analyst) => (
      <button
        type="button"
        class="button small quiet"
        aria-label={`Revoke ${analyst.clickhouse_user}`}
        onClick={() => revoke(analyst)}
      >
        Revoke
      </button>
    ),
  },
];

interface RevokeAnalystProps {
  analyst: AnalystItem;
  onRevoked(): void;
  onClose(): void;
}

function RevokeAnalyst({ analyst, onRevoked, onClose }: RevokeAnalystProps): VNode {
  const action = useMutation();
  const revoke = async (): Promise<void> => {
    const done = await action.run(() => request<AnalystItem>('DELETE', `${base}/${analyst.analyst_id}`));
    if (done === null) return;
    toast(`${analyst.clickhouse_user} was revoked`);
    onRevoked();
    onClose();
  };
  return (
    <Confirm
      title={`Revoke ${analyst.clickhouse_user}?`}
      action="Revoke"
      isDangerous
      isBusy={action.isBusy}
      onConfirm={() => void revoke()}
      onClose={onClose}
    >
      <p>It loses access immediately, its queries are ended, and the database of its views is removed.</p>
      {action.failure !== null && <FailureNote failure={action.failure} />}
    </Confirm>
  );
}

/** Makes a user of ClickHouse, whose password is shown once. */
function MakeAnalyst({ onMade, onClose }: { onMade(): void; onClose(): void }): VNode {
  const [id, setId] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [days, setDays] = useState(DAYS);
  const [made, setMade] = useState<MadeAnalyst | null>(null);
  const action = useMutation();
  const mine = (sites.value ?? []).filter(({ site_id }) => mayAt('tokens.manage', site_id));
  const make = async (): Promise<void> => {
    const body = { analyst_id: id.trim(), site_ids: chosen, expires_at: endAfter(days, Date.now()) };
    const answer = await action.run(() => request<MadeAnalyst>('POST', '/v1/admin/analysts', { body }));
    if (answer === null) return;
    setMade(answer);
    onMade();
  };
  if (made !== null) {
    return (
      <IssuedSecret
        title={`The user ${made.analyst.clickhouse_user} was created`}
        secret={made.password}
        what="password"
        onClose={onClose}
      >
        <p>
          It logs in to ClickHouse as <code>{made.analyst.clickhouse_user}</code>; the tables are in the database of the
          same name.
        </p>
      </IssuedSecret>
    );
  }
  return (
    <Dialog
      title="Create a ClickHouse user"
      isChanged={id !== '' || chosen.length > 0 || days !== DAYS}
      onClose={onClose}
    >
      <form class="stack" onSubmit={submitHandler(() => void make())}>
        <TextField
          label="Id"
          required
          hint="Up to 32 of a-z, 0-9 and -"
          problem={problemOf(action.failure, 'analyst_id')}
          value={id}
          onValue={setId}
        />
        <fieldset class="stack-small">
          <legend>Sites</legend>
          {mine.map(({ site_id }) => (
            <CheckField
              key={site_id}
              label={site_id}
              checked={chosen.includes(site_id)}
              onChecked={(isChosen) =>
                setChosen(isChosen ? [...chosen, site_id] : chosen.filter((one) => one !== site_id))
              }
            />
          ))}
        </fieldset>
        <SelectField label="Expires after" options={LIFETIMES} value={days} onValue={setDays} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <FormActions action="Create" disabled={action.isBusy || chosen.length === 0} onClose={onClose} />
      </form>
    </Dialog>
  );
}

/** The users of ClickHouse that a user made, whose passwords they may know: those log in whoever is disabled. */
export function MemberAnalysts({ member: { user_id, disabled_at } }: { member: UserItem }): VNode | null {
  const managesTokens = mayAt('tokens.manage', null);
  const asked = useQuery(
    // What was issued may end with who is disabled.
    `${user_id} ${managesTokens} ${disabled_at}`,
    askedWhere(managesTokens, (signal) => madeBy(user_id, signal)),
  );
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  if (asked.value === null && asked.failure === null) return null;
  const revoke = async (analysts: readonly AnalystItem[]): Promise<void> => {
    setBusy(true);
    const refused = await revokeAll(analysts);
    setFailure(refused);
    setBusy(false);
    if (refused === null) toast(`The ClickHouse users of ${user_id} were revoked`);
    asked.again();
  };
  return (
    <section class="stack-small" aria-labelledby="member-analysts">
      <h3 id="member-analysts">ClickHouse users they created</h3>
      {failure !== null && <FailureNote failure={failure} />}
      <Shown asked={asked} lines={1}>
        {(analysts) =>
          analysts === null || analysts.length === 0 ? (
            <p class="muted">None</p>
          ) : (
            <>
              <ul class="lines">
                {analysts.map(({ analyst_id, clickhouse_user, site_ids }) => (
                  <li key={analyst_id}>
                    <code>{clickhouse_user}</code>
                    <span class="muted small">reads {site_ids.join(', ')}</span>
                  </li>
                ))}
              </ul>
              {disabled_at !== null && (
                <div class="actions">
                  <button type="button" class="button danger" disabled={isBusy} onClick={() => void revoke(analysts)}>
                    Revoke these users
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

async function madeBy(userId: string, signal: AbortSignal): Promise<ApiResult<AnalystItem[]>> {
  const all = await request<AnalystsAnswer>('GET', base, { signal });
  if (all.ok) return { ...all, value: all.value.items.filter(({ made_by }) => made_by === userId) };
  // There are none then.
  return all.failure.code === 'analysts_not_set_up' ? { ok: true, value: [], version: null } : all;
}

/** Revokes all that can be; answers why one could not. */
async function revokeAll(analysts: readonly AnalystItem[]): Promise<ApiError | null> {
  let failure: ApiError | null = null;
  for (const { analyst_id } of analysts) {
    const answer = await request<AnalystItem>('DELETE', `${base}/${analyst_id}`);
    if (!answer.ok) failure ??= answer.failure;
  }
  return failure;
}
