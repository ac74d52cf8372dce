import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { AuditItem, AuditPage } from '#services/control_api/audit_shapes.ts';
import type { Answer } from '../../api/api_answer.ts';
import { type Parameters, request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { place, setQuery } from '../../router.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Shown } from '../../ui/states.tsx';

const PAGE = 200;

/** Who changed what: the newest changes, and more of them when asked. */
export function AuditList(): VNode {
  const { query } = place.value;
  const filter = { setting_key: query.get('setting'), changed_by: query.get('by') };
  const [pages, setPages] = useState(1);
  const asked = useAnswer(`${filter.setting_key} ${filter.changed_by} ${pages}`, (signal) =>
    changes(filter, pages * PAGE, signal),
  );
  const items = useMemo(() => asked.value?.items ?? [], [asked.value]);
  const chosen = items.find(({ seq }) => String(seq) === query.get('change'));
  return (
    <Panel title="Changes" note="The newest 10,000. Of secrets it says that they were changed, and never to what.">
      <div class="stack">
        <Filter />
        <Shown asked={asked}>
          {({ more }) => (
            <DataTable
              caption="Changes of settings"
              columns={COLUMNS}
              rows={items}
              keyOf={({ seq }) => String(seq)}
              csvName="changes"
              emptyText="No change is like this"
              more={more ? { load: () => setPages(pages + 1), asks: asked.asks } : undefined}
            />
          )}
        </Shown>
      </div>
      {chosen !== undefined && <ChangeDialog change={chosen} />}
    </Panel>
  );
}

async function changes(
  filter: { setting_key: string | null; changed_by: string | null },
  max: number,
  signal: AbortSignal,
): Promise<Answer<{ items: AuditItem[]; more: boolean }>> {
  const items: AuditItem[] = [];
  let before: number | null = null;
  do {
    const query: Parameters = { ...filter, before, limit: PAGE };
    const answer: Answer<AuditPage> = await request('GET', '/v1/admin/audit', { query, signal });
    if (!answer.ok) return answer;
    items.push(...answer.value.items);
    before = answer.value.next;
  } while (before !== null && items.length < max);
  return { ok: true, value: { items, more: before !== null }, version: null };
}

function Filter(): VNode {
  const { query } = place.value;
  const [inAddress, byInAddress] = [query.get('setting') ?? '', query.get('by') ?? ''];
  const [setting, setSetting] = useState(inAddress);
  const [by, setBy] = useState(byInAddress);
  // The way back and forward changes them too.
  useEffect(() => {
    setSetting(inAddress);
    setBy(byInAddress);
  }, [inAddress, byInAddress]);
  return (
    <form
      class="form-row"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ setting: setting.trim(), by: by.trim() }, 'push');
      }}
    >
      <TextField
        label="What"
        type="search"
        placeholder="site/shop or destination/shop/"
        hint="A setting, or with / at its end all below it."
        value={setting}
        onValue={setSetting}
      />
      <TextField label="By whom" type="search" value={by} onValue={setBy} />
      <div class="field-button">
        <button type="submit" class="button">
          Filter
        </button>
      </div>
    </form>
  );
}

const ACTIONS: Readonly<Record<AuditItem['action'], string>> = {
  create: 'Created',
  change: 'Changed',
  delete: 'Removed',
};

const COLUMNS: readonly Column<AuditItem>[] = [
  {
    id: 'when',
    title: 'When',
    value: ({ changed_at }) => changed_at,
    cell: ({ seq, changed_at }) => (
      <button type="button" class="link" onClick={() => setQuery({ change: String(seq) }, 'push')}>
        {dateTime(changed_at)}
      </button>
    ),
  },
  { id: 'by', title: 'By', value: ({ changed_by }) => changed_by },
  { id: 'action', title: 'Did', value: ({ action }) => ACTIONS[action] },
  {
    id: 'what',
    title: 'What',
    value: ({ setting_key }) => setting_key,
    cell: ({ setting_key }) => <code>{setting_key}</code>,
  },
  { id: 'fields', title: 'Fields', value: fieldsOf },
];

function fieldsOf({ before, after, secrets_changed }: AuditItem): string {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {}), ...secrets_changed]);
  return [...names].join(', ');
}

function ChangeDialog({ change }: { change: AuditItem }): VNode {
  const { setting_key, changed_at, changed_by, action, before, after, secrets_changed } = change;
  return (
    <Dialog title={setting_key} kind="side" onClose={() => setQuery({ change: null }, 'push')}>
      <div class="stack">
        <p>
          {ACTIONS[action]} by <span class="strong">{changed_by}</span>, {dateTime(changed_at)}
        </p>
        {secrets_changed.length > 0 && <p>Secrets that were set, replaced or removed: {secrets_changed.join(', ')}</p>}
        <Side title="Before" fields={before} />
        <Side title="After" fields={after} />
      </div>
    </Dialog>
  );
}

function Side({ title, fields }: { title: string; fields: AuditItem['before'] }): VNode | null {
  if (fields === null) return null;
  return (
    <section class="stack-small">
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre class="block" tabIndex={0}>
        {JSON.stringify(fields, null, 2)}
      </pre>
    </section>
  );
}
