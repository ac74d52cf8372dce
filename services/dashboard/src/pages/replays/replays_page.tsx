import type { ReplayItem } from '#services/control_api/redelivery.ts';
import { useGet, useList } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { AskedTable, type Column, numberColumn, openColumn, stateColumn } from '../../ui/data_table.tsx';
import { Panel } from '../../ui/panel.tsx';
import type { Kind } from '../destinations/setting_form.ts';
import { NewReplay, ReplayDialog } from './replay_dialog.tsx';
import { isOver, shareDone, shownState } from './replay_sentences.ts';

const RUNNING_EVERY_MS = 1_000;
const IDLE_EVERY_MS = 10_000;
const REPLAYS_MAX = 1_000;
const NEW = { new: null, destination: null, site: null, source: null };

export default function ReplaysPage() {
  const asked = useList<ReplayItem>(
    '/v1/admin/replays',
    {},
    (known) => (known?.items.some((one) => !isOver(one)) === true ? RUNNING_EVERY_MS : IDLE_EVERY_MS),
    REPLAYS_MAX,
  );
  const kinds = useGet<{ items: Kind[] }>('/v1/admin/destination-kinds');
  const { query } = currentLocation.value;
  const mayChange = mayAt('replays.change', null);
  const chosen = asked.value?.items.find(({ replay_id }) => replay_id === query.get('replay'));
  const titleOf = (name: string): string => kinds.value?.items.find((kind) => kind.name === name)?.title ?? name;
  return (
    <div class="stack">
      <Panel
        title="Replays"
        note="A replay sends events that a destination has not received. Delivered events are left out."
        actions={
          mayChange && <Button kind="primary" label="New replay" onClick={() => setQuery({ new: '1' }, 'push')} />
        }
      >
        <AskedTable
          asked={asked}
          caption="Replays"
          columns={columnsOf(titleOf)}
          keyOf={({ replay_id }) => replay_id}
          sortedBy={{ column: 'created', isDescending: true }}
          csvName="replays"
          emptyText="No replays yet"
          emptyHint="Send a destination the events it missed while it was down or misconfigured."
        />
      </Panel>
      {chosen !== undefined && (
        <ReplayDialog
          replay={chosen}
          title={titleOf(chosen.destination)}
          mayChange={mayChange}
          onChanged={asked.again}
          onClose={() => setQuery({ replay: null }, 'push')}
        />
      )}
      {query.get('new') !== null && mayChange && kinds.value !== null && (
        <NewReplay
          kinds={kinds.value.items}
          onStarted={(id) => {
            asked.again();
            setQuery({ ...NEW, replay: id });
          }}
          onClose={() => setQuery(NEW, 'push')}
        />
      )}
    </div>
  );
}

const columnsOf = (titleOf: (name: string) => string): readonly Column<ReplayItem>[] => [
  openColumn({
    ...{ id: 'created', title: 'Requested', value: ({ created_at }) => created_at },
    shown: ({ created_at }) => dateTime(created_at),
    open: ({ replay_id }) => setQuery({ replay: replay_id }, 'push'),
  }),
  { id: 'destination', title: 'Destination', value: ({ destination }) => titleOf(destination) },
  { id: 'site', title: 'Site', value: ({ site_id }) => site_id ?? 'All sites' },
  stateColumn('state', 'State', (replay) => shownState(replay)),
  { id: 'progress', title: 'Progress', cell: (replay) => <Progress replay={replay} /> },
  numberColumn('to_send', 'To send', ({ to_send }) => to_send),
  { id: 'by', title: 'Changed by', value: ({ changed_by }) => changed_by },
];

function Progress({ replay }: { replay: ReplayItem }) {
  const share = shareDone(replay);
  if (share === null) return '–';
  return (
    <progress
      class="progress"
      max={1}
      value={share}
      aria-label={`Progress of the replay of ${dateTime(replay.created_at)}`}
    />
  );
}
