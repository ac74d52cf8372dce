import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AnalystItem, AnalystsAnswer } from '#services/control_api/queries.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { MakeAnalyst } from './make_analyst.tsx';

const base = '/v1/admin/analysts';
const NOT_SET_UP = 'analysts_not_set_up';

/** Users of ClickHouse that people read their sites with, by tools of their own. */
export function Analysts(): VNode {
  const asked = useAnswer('analysts', (signal) => request<AnalystsAnswer>('GET', base, { signal }));
  const [makes, setMakes] = useState(false);
  const [revoked, setRevoked] = useState<AnalystItem | null>(null);
  if (asked.failure?.code === NOT_SET_UP) {
    return (
      <Panel title="Users of ClickHouse">
        <Empty title="This installation makes no users of ClickHouse">
          The ClickHouse that is embedded in the local setup cannot store users. With a ClickHouse server, whoever runs
          it names a user that may make others, as <code>CONTROL_ANALYSTS_URL</code>.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel
      title="Users of ClickHouse"
      note="For tools that speak SQL to ClickHouse itself: each reads its sites and no others, writes nothing, and has limits."
      actions={
        <button type="button" class="button primary" onClick={() => setMakes(true)}>
          Make a user
        </button>
      }
    >
      <Shown asked={asked}>
        {({ items }) => (
          <DataTable
            caption="Analysts and their sites"
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
  { id: 'sites', title: 'Reads', value: ({ site_ids }) => site_ids.join(', ') },
  {
    id: 'made',
    title: 'Made',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => (created_at === null ? 'Not known' : dateTime(created_at)),
  },
  {
    id: 'ends',
    title: 'Ends',
    value: ({ expires_at }) => expires_at ?? Number.POSITIVE_INFINITY,
    cell: ({ expires_at }) => (expires_at === null ? 'Never' : dateTime(expires_at)),
  },
  { id: 'by', title: 'By', value: ({ created_by }) => created_by },
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
  const action = useAction();
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
      <p>ClickHouse refuses it at once, what it runs is ended, and the database of its views is removed.</p>
      {action.failure !== null && <FailureNote failure={action.failure} />}
    </Confirm>
  );
}
