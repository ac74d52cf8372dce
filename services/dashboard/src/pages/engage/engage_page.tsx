import type { EngageView } from '#services/control_api/engage.ts';
import { listAll } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import type { PageProps } from '../../page_spec.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { AskedTable, agoColumn, type Column, numberColumn, openColumn, stateColumn } from '../../ui/data_table.tsx';
import { Panel, type StateLook, Tabs } from '../../ui/panel.tsx';
import { EngageDialog } from './engage_dialog.tsx';
import { KINDS, type KindSpec, shownState } from './engage_item.ts';

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
          <Button kind="primary" label={`New ${spec.one}`} onClick={() => setQuery({ item: '+' }, 'push')} />
        )
      }
    >
      <AskedTable
        asked={asked}
        caption={`List of ${spec.title.toLowerCase()}`}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        csvName={spec.path}
        emptyText={`No ${spec.title.toLowerCase()} yet`}
      />
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

const STATES: Readonly<Record<ReturnType<typeof shownState>, StateLook>> = {
  on: { label: 'Active', badge: 'good' },
  off: { label: 'Paused', badge: 'plain' },
  later: { label: 'Scheduled', badge: 'warn' },
  over: { label: 'Ended', badge: 'plain' },
};
const stateOf = (item: EngageView) => STATES[shownState(item, Date.now())];

const COLUMNS: readonly Column<EngageView>[] = [
  openColumn({
    ...{ id: 'name', title: 'Name', look: 'strong', value: ({ name }) => name },
    open: ({ id }) => setQuery({ item: id }, 'push'),
  }),
  stateColumn('state', 'State', (item) => stateOf(item)),
  { id: 'place', title: 'Placement', value: (item) => item.place },
  numberColumn('priority', 'Priority', ({ priority }) => priority),
  numberColumn(
    'share',
    'Share',
    ({ share_percent }) => share_percent,
    (percent) => `${percent}%`,
  ),
  agoColumn('changed', 'Changed', ({ changed_at }) => changed_at),
  { id: 'by', title: 'Changed by', value: ({ changed_by }) => changed_by },
];
