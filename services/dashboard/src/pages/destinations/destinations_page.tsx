import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { DestinationItem, HealthItem } from '#services/control_api/destinations.ts';
import { listAll, request } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import { number, span } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { type Column, DataTable, stateColumn } from '../../ui/data_table.tsx';
import { Dialog, toast, useUnsaved } from '../../ui/dialog.tsx';
import { CheckField, FormActions, SelectField, submitHandler } from '../../ui/form_fields.tsx';
import { Empty, FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { DestinationDialog, SettingFields } from './destination_dialog.tsx';
import { type DestinationRow, destinationRows, STATES, skippedTotal } from './destination_rows.ts';
import { changeOf, draftOf, type Kind, settingFields } from './setting_form.ts';

const EVERY_MS = 10_000;

/** Where the events of a site go, how that is going, and the settings of each place. */
export default function DestinationsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const list = useQuery(siteId, (signal) =>
    listAll<DestinationItem>('/v1/admin/destinations', { site_id: siteId }, 1_000, signal),
  );
  const kinds = useQuery('kinds', (signal) =>
    request<{ items: Kind[] }>('GET', '/v1/admin/destination-kinds', { signal }),
  );
  const health = useQuery(
    siteId,
    (signal) =>
      request<{ items: HealthItem[] }>('GET', '/v1/admin/delivery-health', { query: { site_id: siteId }, signal }),
    EVERY_MS,
  );
  const known = health.value?.items ?? (health.waits ? 'loading' : null);
  const rows = useMemo(
    () => destinationRows(list.value?.items ?? [], kinds.value?.items ?? [], known),
    [list.value, kinds.value, known],
  );
  const { query } = currentLocation.value;
  const chosen = rows.find(({ item }) => item.name === query.get('destination'));
  const mayChange = mayAt('destinations.change', siteId);
  const missing = (kinds.value?.items ?? []).filter(({ name }) => !rows.some(({ item }) => item.name === name));
  return (
    <div class="stack">
      {health.failure !== null && <FailureNote failure={health.failure} again={health.again} />}
      <Panel
        title="The last 24 hours"
        note="Failed deliveries are retried; events rejected for good are kept as dead letters."
        actions={
          mayChange && (
            <button type="button" class="button primary" onClick={() => setQuery({ add: '1' }, 'push')}>
              Add destination
            </button>
          )
        }
      >
        <Shown asked={list}>{() => <Destinations rows={rows} />}</Shown>
      </Panel>
      {chosen !== undefined && (
        <DestinationDialog
          key={chosen.item.name}
          siteId={siteId}
          row={chosen}
          kind={kinds.value?.items.find(({ name }) => name === chosen.item.name)}
          mayChange={mayChange}
          onChanged={() => {
            list.again();
            health.again();
          }}
          onClose={() => setQuery({ destination: null, view: null }, 'push')}
        />
      )}
      {query.get('add') !== null && mayChange && kinds.value !== null && list.value !== null && (
        <AddDestination
          siteId={siteId}
          kinds={missing}
          onAdded={(name) => {
            list.again();
            setQuery({ add: null, destination: name, view: null });
          }}
          onClose={() => setQuery({ add: null }, 'push')}
        />
      )}
    </div>
  );
}

function Destinations({ rows }: { rows: readonly DestinationRow[] }): VNode {
  if (rows.length === 0) {
    return (
      <Empty title="No destinations configured">
        Add an advertising or analytics platform, or a webhook of your own.
      </Empty>
    );
  }
  return (
    <DataTable
      caption="Destinations of the site"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ item }) => item.name}
      csvName="destinations"
    />
  );
}

const COLUMNS: readonly Column<DestinationRow>[] = [
  {
    id: 'title',
    title: 'Destination',
    value: ({ title }) => title,
    cell: ({ item, title }) => (
      <button
        type="button"
        class="link strong"
        onClick={() => setQuery({ destination: item.name, view: null }, 'push')}
      >
        {title}
      </button>
    ),
  },
  stateColumn('state', 'State', ({ state }) => STATES[state]),
  count('delivered', 'Delivered', ({ delivered }) => delivered),
  count('waiting', 'Waiting', ({ waiting }) => waiting),
  count('failed', 'Failed', ({ failed }) => failed),
  time('p50', 'p50', ({ took_ms }) => took_ms.p50),
  time('p99', 'p99', ({ took_ms }) => took_ms.p99),
  count('skipped', 'Skipped', (health) => skippedTotal(health)),
  {
    id: 'error',
    title: 'Last error',
    value: ({ health }) => health?.failed_reason ?? '',
    cell: ({ health }) => (health === null || health.failed_reason === '' ? '–' : <code>{health.failed_reason}</code>),
  },
];

function count(id: string, title: string, of: (health: HealthItem) => number): Column<DestinationRow> {
  const value = ({ health }: DestinationRow): number | null => (health === null ? null : of(health));
  return { id, title, align: 'end', value, cell: (row) => number(value(row)) };
}

function time(id: string, title: string, of: (health: HealthItem) => number): Column<DestinationRow> {
  const value = ({ health }: DestinationRow): number | null =>
    health === null || health.attempts === 0 ? null : of(health);
  return {
    ...{ id, title, align: 'end', value },
    cell(row) {
      const ms = value(row);
      return ms === null ? '–' : span(ms);
    },
  };
}

interface AddDestinationProps {
  siteId: string;
  /** Kinds that the site does not have yet. */
  kinds: readonly Kind[];
  onAdded(name: string): void;
  onClose(): void;
}

/** Sends the events of a site to one more place. */
function AddDestination({ siteId, kinds, onAdded, onClose }: AddDestinationProps): VNode {
  const [name, setName] = useState(kinds[0]?.name ?? '');
  const kind = kinds.find((one) => one.name === name);
  return (
    <Dialog title="Add destination" onClose={onClose}>
      {kind === undefined ? (
        <p class="muted">Every platform is already configured.</p>
      ) : (
        <div class="stack">
          <p class="muted">A site has one destination per platform; configured ones are not listed.</p>
          <SelectField
            label="Platform"
            value={name}
            onValue={setName}
            options={kinds.map((one) => ({ value: one.name, label: one.title }))}
          />
          <NewSettings key={name} siteId={siteId} kind={kind} onAdded={onAdded} onClose={onClose} />
        </div>
      )}
    </Dialog>
  );
}

function NewSettings({ siteId, kind, onAdded, onClose }: Omit<AddDestinationProps, 'kinds'> & { kind: Kind }): VNode {
  const fields = settingFields(kind);
  const [draft, setDraft] = useState(() => draftOf(fields, null));
  const [enabled, setEnabled] = useState(false);
  const action = useMutation();
  useUnsaved(Object.keys(changeOf(fields, draft, null)).length > 0);
  const add = async (): Promise<void> => {
    const body = { name: kind.name, enabled, ...changeOf(fields, draft, null) };
    const path = `/v1/admin/sites/${encodeURIComponent(siteId)}/destinations`;
    const added = await action.run(() => request<DestinationItem>('POST', path, { body }));
    if (added === null) return;
    toast(`${kind.title} was added`);
    onAdded(added.name);
  };
  return (
    <form class="stack" onSubmit={submitHandler(() => void add())}>
      <SettingFields fields={fields} draft={draft} stored={[]} failure={action.failure} onDraft={setDraft} />
      <CheckField
        label="Enable now"
        checked={enabled}
        onChecked={setEnabled}
        hint="Leave off to send a test event first, and enable it then."
      />
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <FormActions action="Add" disabled={action.isBusy} onClose={onClose} />
    </form>
  );
}
