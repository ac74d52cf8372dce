import type { EngageView } from '#services/control_api/engage.ts';
import { listAll } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import { ago, dateTime } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { type Column, DataTable, numberColumn, stateColumn } from '../../ui/data_table.tsx';
import { type BadgeKind, Empty, Panel, Shown, Tabs } from '../../ui/panel.tsx';
import { EngageDialog } from './engage_dialog.tsx';
import { KINDS, type KindSpec, shownState } from './engage_item.ts';

/** Surveys, promos and forms of a site, and what came of them. */
export default function EngagePage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  return (
    <Tabs
      label="Kinds"
      chosen={currentLocation.value.query.get('kind') ?? 'survey'}
      onChosen={(kind) => setQuery({ kind: kind === 'survey' ? null : kind, item: null })}
      tabs={KINDS.map((spec) => ({
        id: spec.kind,
        label: spec.title,
        content: () => <OneKind key={spec.kind} siteId={siteId} spec={spec} />,
      }))}
    />
  );
}

function OneKind({ siteId, spec }: { siteId: string; spec: KindSpec }) {
  const path = `/v1/admin/sites/${encodeURIComponent(siteId)}/${spec.path}`;
  const asked = useQuery(`${siteId} ${spec.kind}`, (signal) => listAll<EngageView>(path, {}, 1_000, signal));
  const chosen = currentLocation.value.query.get('item');
  const item = asked.value?.items.find(({ id }) => id === chosen) ?? null;
  return (
    <Panel
      title={spec.title}
      actions={
        mayAt('engage.change', siteId) && (
          <button type="button" class="button primary" onClick={() => setQuery({ item: '+' }, 'push')}>
            New {spec.one}
          </button>
        )
      }
    >
      <Shown asked={asked}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={`No ${spec.title.toLowerCase()} yet`} />
          ) : (
            <DataTable
              caption={`List of ${spec.title.toLowerCase()}`}
              columns={COLUMNS}
              rows={items}
              keyOf={({ id }) => id}
              csvName={spec.path}
            />
          )
        }
      </Shown>
      {(item !== null || (chosen === '+' && asked.value !== null)) && (
        <EngageDialog
          key={item?.id ?? '+'}
          siteId={siteId}
          spec={spec}
          path={path}
          item={item}
          onChanged={asked.again}
          onClose={() => setQuery({ item: null }, 'push')}
        />
      )}
    </Panel>
  );
}

const STATES: Readonly<Record<ReturnType<typeof shownState>, { label: string; badge: BadgeKind }>> = {
  on: { label: 'Active', badge: 'good' },
  off: { label: 'Paused', badge: 'plain' },
  later: { label: 'Scheduled', badge: 'warn' },
  over: { label: 'Ended', badge: 'plain' },
};
const stateOf = (item: EngageView) => STATES[shownState(item, Date.now())];

const COLUMNS: readonly Column<EngageView>[] = [
  {
    id: 'name',
    title: 'Name',
    value: ({ name }) => name,
    cell: ({ id, name }) => (
      <button type="button" class="link strong" onClick={() => setQuery({ item: id }, 'push')}>
        {name}
      </button>
    ),
  },
  stateColumn('state', 'State', (item) => stateOf(item)),
  { id: 'place', title: 'Placement', value: (item) => item.place },
  numberColumn('priority', 'Priority', ({ priority }) => priority),
  {
    id: 'share',
    title: 'Share',
    align: 'end',
    value: (item) => item.share_percent,
    cell: (item) => `${item.share_percent}%`,
  },
  {
    id: 'changed',
    title: 'Changed',
    value: ({ changed_at }) => changed_at,
    cell: ({ changed_at }) => <span title={dateTime(changed_at)}>{ago(changed_at, Date.now())}</span>,
  },
  { id: 'by', title: 'Changed by', value: ({ changed_by }) => changed_by },
];
