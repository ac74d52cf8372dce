import { useMemo, useState } from 'preact/hooks';
import type { DestinationItem, HealthItem } from '#services/control_api/destinations.ts';
import { request, sitePath } from '../../api/request.ts';
import { useGet, useList } from '../../api/use_answer.ts';
import { span } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import {
  AskedTable,
  asRows,
  type Column,
  codeColumn,
  numberColumn,
  openColumn,
  stateColumn,
} from '../../ui/data_table.tsx';
import { Dialog, toast, useUnsaved } from '../../ui/dialog.tsx';
import { ActionForm, CheckField, SelectField } from '../../ui/form_fields.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';
import { DestinationDialog, SettingFields } from './destination_dialog.tsx';
import { type DestinationRow, destinationRows, STATES, skippedTotal } from './destination_rows.ts';
import { changeOf, draftOf, type Kind, settingFields } from './setting_form.ts';

const EVERY_MS = 10_000;

export default function DestinationsPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const list = useList<DestinationItem>('/v1/admin/destinations', { site_id: siteId });
  const kinds = useGet<{ items: Kind[] }>('/v1/admin/destination-kinds');
  const health = useGet<{ items: HealthItem[] }>('/v1/admin/delivery-health', { site_id: siteId }, EVERY_MS);
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
      <FailureNote failure={health.failure} again={health.again} />
      <Panel
        title="The last 24 hours"
        note="Failed deliveries are retried; events rejected for good are kept as dead letters."
        actions={
          mayChange && <Button kind="primary" label="Add destination" onClick={() => setQuery({ add: '1' }, 'push')} />
        }
      >
        <AskedTable
          asked={asRows(list, () => rows)}
          caption="Destinations of the site"
          columns={COLUMNS}
          keyOf={({ item }) => item.name}
          csvName="destinations"
          emptyText="No destinations configured"
          emptyHint="Add an advertising or analytics platform, or a webhook of your own."
        />
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

const ofCalls =
  (percentile: 'p50' | 'p99') =>
  ({ health }: DestinationRow): number | null =>
    health === null || health.attempts === 0 ? null : health.took_ms[percentile];
const spanOf = (ms: number | null): string => (ms === null ? '–' : span(ms));

const COLUMNS: readonly Column<DestinationRow>[] = [
  openColumn({
    ...{ id: 'title', title: 'Destination', look: 'strong', value: ({ title }) => title },
    open: ({ item }) => setQuery({ destination: item.name, view: null }, 'push'),
  }),
  stateColumn('state', 'State', ({ state }) => STATES[state]),
  numberColumn('delivered', 'Delivered', ({ health }) => health?.delivered ?? null),
  numberColumn('waiting', 'Waiting', ({ health }) => health?.waiting ?? null),
  numberColumn('failed', 'Failed', ({ health }) => health?.failed ?? null),
  numberColumn('p50', 'p50', ofCalls('p50'), spanOf),
  numberColumn('p99', 'p99', ofCalls('p99'), spanOf),
  numberColumn('skipped', 'Skipped', ({ health }) => health && skippedTotal(health)),
  codeColumn('error', 'Last error', ({ health }) => health?.failed_reason ?? ''),
];

interface AddDestinationProps {
  siteId: string;
  kinds: readonly Kind[];
  onAdded(name: string): void;
  onClose(): void;
}

function AddDestination({ siteId, kinds, onAdded, onClose }: AddDestinationProps) {
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

function NewSettings({ siteId, kind, onAdded, onClose }: Omit<AddDestinationProps, 'kinds'> & { kind: Kind }) {
  const fields = settingFields(kind);
  const [draft, setDraft] = useState(() => draftOf(fields, null));
  const [enabled, setEnabled] = useState(false);
  const change = changeOf(fields, draft, null);
  useUnsaved(Object.keys(change).length > 0);
  const body = { name: kind.name, enabled, ...change };
  return (
    <ActionForm
      action="Add"
      run={() => request<DestinationItem>('POST', sitePath(siteId, 'destinations'), { body })}
      onDone={({ name }) => {
        toast(`${kind.title} was added`);
        onAdded(name);
      }}
      onClose={onClose}
    >
      {(failure) => (
        <>
          <SettingFields fields={fields} draft={draft} stored={[]} failure={failure} onDraft={setDraft} />
          <CheckField
            label="Enable now"
            checked={enabled}
            onChecked={setEnabled}
            hint="Leave off to send a test event first, and enable it then."
          />
        </>
      )}
    </ActionForm>
  );
}
