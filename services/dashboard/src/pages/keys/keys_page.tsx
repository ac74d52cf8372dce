import type { VNode } from 'preact';
import type { KeyItem } from '#services/control_api/sites.ts';
import { listAll } from '../../api/lists.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { ago, dateTime } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { place, setQuery } from '../../router.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { mayAt } from '../../who.ts';
import { IssueKey } from './issue_key.tsx';
import { KeyDialog } from './key_dialog.tsx';
import { KeyState, originsOf, STATES } from './key_state.tsx';

const EVERY_MS = 30_000;

/** The keys of a site: who may send its events, from where, and when each was last used. */
export default function KeysPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const asked = useAnswer(
    siteId,
    (signal) => listAll<KeyItem>('/v1/admin/keys', { site_id: siteId }, 10_000, signal),
    EVERY_MS,
  );
  const { query } = place.value;
  const mayChange = mayAt('keys.change', siteId);
  const chosen = keyNamed(asked.value?.items ?? [], query.get('key') ?? '');
  return (
    <div class="stack">
      <Panel
        title="Who may send events"
        note="Browser keys are public and stand in pages; server keys are secret."
        actions={
          mayChange && (
            <button type="button" class="button primary" onClick={() => setQuery({ issue: '1' }, 'push')}>
              Issue a key
            </button>
          )
        }
      >
        <Shown asked={asked}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No key yet">Whoever sends events of this site needs one.</Empty>
            ) : (
              <DataTable
                caption="Keys of the site"
                columns={COLUMNS}
                rows={items}
                keyOf={({ key_hash }) => key_hash}
                sortedBy={{ column: 'created', isDescending: true }}
                csvName="keys"
              />
            )
          }
        </Shown>
      </Panel>
      {chosen !== undefined && (
        <KeyDialog
          key={chosen.key_hash}
          item={chosen}
          mayChange={mayChange}
          onChanged={asked.again}
          onClose={() => setQuery({ key: null }, 'push')}
        />
      )}
      {query.get('issue') !== null && mayChange && (
        <IssueKey siteId={siteId} onIssued={asked.again} onClose={() => setQuery({ issue: null }, 'push')} />
      )}
    </div>
  );
}

/** Events name their key by so much of its hash. */
const KEY_ID_CHARACTERS = 16;

/** The key that an address names, by its hash or the beginning that events have of it. */
const keyNamed = (keys: readonly KeyItem[], named: string): KeyItem | undefined =>
  named.length < KEY_ID_CHARACTERS ? undefined : keys.find(({ key_hash }) => key_hash.startsWith(named));

const COLUMNS: readonly Column<KeyItem>[] = [
  {
    id: 'key',
    title: 'Key',
    value: ({ shown_prefix }) => shown_prefix,
    cell: ({ key_hash, shown_prefix }) => (
      <button type="button" class="link mono" onClick={() => setQuery({ key: key_hash }, 'push')}>
        {shown_prefix}…
      </button>
    ),
  },
  { id: 'label', title: 'Label', value: ({ label }) => label },
  { id: 'caller', title: 'For', value: ({ caller }) => (caller === 'browser' ? 'Browsers' : 'Servers') },
  {
    id: 'origins',
    title: 'From',
    value: ({ allowed_origins }) => allowed_origins.join(' '),
    cell: (key) => originsOf(key),
  },
  {
    id: 'used',
    title: 'Last used',
    value: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at }) =>
      last_used_at === null ? 'Not known' : <span title={dateTime(last_used_at)}>{ago(last_used_at, Date.now())}</span>,
  },
  {
    id: 'state',
    title: 'State',
    value: ({ state }) => STATES[state].label,
    cell: (key) => <KeyState item={key} />,
  },
  {
    id: 'created',
    title: 'Issued',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => dateTime(created_at),
  },
];
