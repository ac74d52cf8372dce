import { useMemo, useState } from 'preact/hooks';
import { DESTINATIONS_OF_A_KIND_MAX } from '#pipelines/delivery/destination_id.ts';
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
import { ActionForm, CheckField, problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
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
          kind={kinds.value?.items.find(({ name }) => name === chosen.item.kind)}
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
          kinds={kinds.value.items}
          there={list.value.items}
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
  /** What the site has already. */
  there: readonly DestinationItem[];
  onAdded(name: string): void;
  onClose(): void;
}

function AddDestination({ siteId, kinds, there, onAdded, onClose }: AddDestinationProps) {
  const ofKind = (name: string): number => there.filter(({ kind }) => kind === name).length;
  const [name, setName] = useState((kinds.find((one) => ofKind(one.name) === 0) ?? kinds[0])?.name ?? '');
  const kind = kinds.find((one) => one.name === name);
  const isFirst = !there.some((one) => one.name === name);
  return (
    <Dialog title="Add destination" onClose={onClose}>
      {kind !== undefined && (
        <div class="stack">
          <SelectField
            label="Platform"
            value={name}
            onValue={setName}
            options={kinds.map((one) => ({ value: one.name, label: one.title }))}
          />
          {ofKind(name) >= DESTINATIONS_OF_A_KIND_MAX ? (
            <p class="muted">A site has at most {DESTINATIONS_OF_A_KIND_MAX} destinations per platform.</p>
          ) : (
            <NewSettings key={name} {...{ siteId, kind, isFirst, onAdded, onClose }} />
          )}
        </div>
      )}
    </Dialog>
  );
}

interface NewSettingsProps extends Pick<AddDestinationProps, 'siteId' | 'onAdded' | 'onClose'> {
  kind: Kind;
  /** Whether the site has none that is called as its kind is. */
  isFirst: boolean;
}

function NewSettings({ siteId, kind, isFirst, onAdded, onClose }: NewSettingsProps) {
  const fields = settingFields(kind);
  const [draft, setDraft] = useState(() => draftOf(fields, null));
  const [called, setCalled] = useState('');
  const [enabled, setEnabled] = useState(false);
  const change = changeOf(fields, draft, null);
  useUnsaved(called !== '' || Object.keys(change).length > 0);
  const name = isFirst ? kind.name : `${kind.name}-${called.trim()}`;
  const body = { name, enabled, ...change };
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
          {!isFirst && (
            <TextField
              label="Name"
              hint={`Another ${kind.title} of this site. Lower-case letters, digits, - and _; its id is then ${name}.`}
              value={called}
              onValue={setCalled}
              problem={problemOf(failure, 'name')}
              required
            />
          )}
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
